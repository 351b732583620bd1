"""The step from a prompt to what a provider is really sent, and from its answer to what it cost."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.words import Target

TARGETS: tuple[Target, ...] = ("anthropic", "bedrock", "deepseek", "gemini", "litellm", "openai", "openai-responses")
"""Those that a request can be written for."""
