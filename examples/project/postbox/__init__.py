"""Messages that are sent as often as it takes."""
