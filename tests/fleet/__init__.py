"""The traffic of many conversations."""
