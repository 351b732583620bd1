"""A conversation over time: its frozen prefix, what it tells the model, and its saved state."""
