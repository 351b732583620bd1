"""Build a provider's request from a prompt and a conversation."""
