"""An estimate of the tokens of a text that needs no dependency and is the same everywhere."""

from __future__ import annotations


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: its UTF-8 bytes divided by four, rounded down."""
    size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    return size // 4  # a lone surrogate is as long as the U+FFFD it becomes
