"""A conversation over time: its frozen prefix, its notices of changes, its records and its saved state."""
