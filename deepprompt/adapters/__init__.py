"""Adapters to agent frameworks that keep the conversation: each puts a `Tail` where its framework stores messages."""
