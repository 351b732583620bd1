"""What a response says about tokens, read from a copy of its bytes in whatever encoding they came."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

from deepprompt.fleet.readers.shared import events_in, usage_in_events

MOST_KEPT = 8 << 20
"""So many bytes of a response are kept until its end; of a longer one, its tokens are not known."""


def encodings() -> str:
    """Return the encodings of responses that can be read here, as an `Accept-Encoding` header names them."""
    found = ["gzip", "deflate"]
    for name, module in (("br", "brotli"), ("zstd", "zstandard")):
        try:
            __import__(module)
        except ImportError:
            continue
        found.append(name)
    return ", ".join(found)


def decoded(data: bytes, encoding: str) -> str:
    """Return a response's text; as far as it goes, if it broke off. "" if it cannot be decoded."""
    unpack = _UNPACK.get(encoding.strip().lower())
    try:
        return (unpack(data) if unpack else data).decode("utf-8", "replace")
    except Exception:  # the decoders of four packages have no common error
        return ""


def _inflated(data: bytes) -> bytes:
    decoder = zlib.decompressobj(wbits=47)  # gzip or zlib, by its first bytes
    return decoder.decompress(data, 1 << 27)


def _unbrotli(data: bytes) -> bytes:
    import brotli

    unpacked: bytes = brotli.Decompressor().process(data)
    return unpacked


def _unzstd(data: bytes) -> bytes:
    import zstandard

    unpacked: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return unpacked


_UNPACK: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": _inflated, "deflate": _inflated, "br": _unbrotli, "zstd": _unzstd,
}  # fmt: skip


def usage_in(data: bytes, encoding: str) -> Mapping[str, Any] | None:
    """Return the provider's own numbers out of a response, whole or streamed; None if it has none."""
    found = usage_in_events(events_in(decoded(data, encoding)))
    if found is None:
        return None
    return next((found[name] for name in ("usage", "usageMetadata", "timings") if name in found), None)
