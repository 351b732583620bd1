"""The step from a prompt to what a provider is really sent, and from its answer to what it cost."""

TARGETS = ("anthropic", "bedrock", "deepseek", "gemini", "litellm", "openai", "openai-responses")
"""Those that a request can be written for."""
