"""The five ways to make a prompt: each is a small front door that puts parts in order and returns a `Prompt`."""
