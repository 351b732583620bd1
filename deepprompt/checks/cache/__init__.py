"""What a provider's cache makes of a conversation."""
