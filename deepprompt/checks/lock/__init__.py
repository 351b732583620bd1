"""The lock of a project's prompts: what is pinned, its file, and the review of what changed."""
