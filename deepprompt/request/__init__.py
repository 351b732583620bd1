"""From a prompt and a conversation to one provider's request."""
