"""Adapters, each with its real framework where that is installed."""
