"""The traffic of many conversations: logs of any kind, read as records, and what their cache costs and why."""
