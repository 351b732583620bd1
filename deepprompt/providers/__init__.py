"""The providers: how each one writes a request, how its requests are read, and how it reports tokens."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.words import Target

TARGETS: tuple[Target, ...] = ("anthropic", "bedrock", "deepseek", "gemini", "litellm", "openai", "openai-responses")
"""The APIs that a request can be written for."""
