"""What a response cost: `read_usage` makes one `Usage` of whatever a provider reports about the tokens it counted.

A response is recognised by its own fields, as a dict or as an SDK's object. Each provider's file says under which names
its numbers stand. Prices are not here, and no SDK is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from deepprompt.errors import UsageError
from deepprompt.providers import anthropic, bedrock, deepseek, gemini, litellm, openai, responses
from deepprompt.providers.dialect import UsageShape, items, value_at


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one response, or of several added up, counted the same way for every provider.

    Raises `UsageError` for numbers that contradict each other.
    """

    input: int = 0
    """Every input token, cached or not."""
    cached_read: int = 0
    cached_write: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Tokens by lifetime, read-only and without zeros; the lifetime is "" if the provider does not report it."""
    output: int = 0
    tells_cache: bool = True
    """Whether the response reports on the cache at all. If not, `cached_read` is 0 because it is unknown."""

    def __post_init__(self) -> None:
        """Sort the lifetimes and refuse impossible numbers."""
        for name in ("input", "cached_read", "output"):
            _checked(name, getattr(self, name))
        written = {key: _checked(f"cached_write[{key!r}]", self.cached_write[key]) for key in self.cached_write}
        # Short lifetimes first, then those not known here by name, and the unreported one last.
        order = sorted(written, key=lambda key: (not key, (*_LIFETIMES, key).index(key), key))
        object.__setattr__(self, "cached_write", MappingProxyType({key: written[key] for key in order if written[key]}))
        if self.uncached < 0:
            raise UsageError(
                f"{self.cached_read} tokens read from a cache and {self.written} written to it are more than the "
                f"{self.input} of the input; the input has to count every token, cached or not"
            )

    @property
    def written(self) -> int:
        """The tokens written to a cache, for any lifetime."""
        return sum(self.cached_write.values())

    @property
    def uncached(self) -> int:
        """The input tokens that are paid for in full."""
        return self.input - self.cached_read - self.written

    @property
    def hit_rate(self) -> float:
        """The share of the input that was read from a cache, from 0 to 1."""
        return self.cached_read / self.input if self.input else 0.0

    def __add__(self, other: Usage) -> Usage:
        if not isinstance(other, Usage):
            return NotImplemented
        read, written = self.cached_read + other.cached_read, Counter(self.cached_write) + Counter(other.cached_write)
        tells = self.tells_cache and other.tells_cache
        return Usage(self.input + other.input, read, written, self.output + other.output, tells)

    def __reduce__(self) -> tuple[type[Usage], tuple[int, int, dict[str, int], int, bool]]:
        """Make it possible to copy and pickle a usage, because a read-only mapping cannot be pickled."""
        return Usage, (self.input, self.cached_read, dict(self.cached_write), self.output, self.tells_cache)


_LIFETIMES = ("5m", "30m", "1h", "12h")
_WRAPPERS = ("message", "response", "interaction", "metadata")
_USAGES = ("usage", "usage_metadata", "total_usage", "timings")

# LangChain's usage_metadata and pydantic-ai's RequestUsage, which count alike for every provider.
_LANGCHAIN = UsageShape(
    known_by=("input_tokens", "input_token_details"),
    read=("input_token_details.cache_read",),
    written=("input_token_details.cache_creation",),
)
_PYDANTIC_AI = UsageShape(
    known_by=("input_tokens", "cache_read_tokens"), read=("cache_read_tokens",), written=("cache_write_tokens",)
)
# OpenHands' TokenUsage and Agent Framework's UsageDetails, which has Anthropic's count if it has Anthropic's names too.
_OPENHANDS = UsageShape(
    known_by=("prompt_tokens", "cache_read_tokens"),
    input=("prompt_tokens",),
    output=("completion_tokens",),
    read=("cache_read_tokens",),
    written=("cache_write_tokens",),
)
_AGENT_FRAMEWORK = UsageShape(
    known_by=("input_token_count", "output_token_count"),
    input=("input_token_count",),
    output=("output_token_count",),
    read=("cache_read_input_token_count",),
    written=("cache_creation_input_token_count",),
    when=lambda usage: not any(str(name).startswith("anthropic.") for name in _names(usage)),
)
# llama.cpp's timings, if there is no usage: prompt_n counts what the cache left to process.
_LLAMA_CPP = UsageShape(
    known_by=("prompt_n", "cache_n"), input=("prompt_n", "cache_n"), output=("predicted_n",), read=("cache_n",)
)

# The token counts in Codex' rollout files. The input includes what was cached.
_CODEX = UsageShape(
    known_by=("input_tokens", "cached_input_tokens"),
    read=("cached_input_tokens",),
    written=("cache_write_input_tokens",),
)
_GEN_AI_PREFIX = "gen_ai.usage."
# OpenTelemetry's names without their prefix and with `_` for dots, in every spelling that was published.
_GEN_AI = UsageShape(
    known_by=("gen_ai",),
    input=("input_tokens", "prompt_tokens"),
    output=("output_tokens", "completion_tokens"),
    read=("cache_read_input_tokens", "input_tokens_cached"),
    written=("cache_write_input_tokens", "cache_creation_input_tokens"),
)
# Langfuse's usage_details. The SDK that wrote them chose the names, and whether the input includes what was cached.
_LANGFUSE = UsageShape(
    known_by=("input", "output"),
    input=("input",),
    output=("output",),
    read=("input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "cache_read"),
    written=("input_cache_creation", "input_cache_write", "cache_creation_input_tokens", "cache_write"),
    when=lambda usage: not _counts_cached_apart(usage),
)


def _names(usage: object) -> Iterable[object]:
    return usage if isinstance(usage, Mapping) else vars(usage) if hasattr(usage, "__dict__") else ()


def _counts_cached_apart(usage: object) -> bool:
    """Whether Langfuse's input leaves out what was cached: by the total, or because it is less than that."""
    read, written = (max(_counts(usage, names), default=0) for names in (_LANGFUSE.read, _LANGFUSE.written))
    given, total = sum(_counts(usage, ("input",))), sum(_counts(usage, ("total",)))
    if total and read + written:
        return total == given + read + written + sum(_counts(usage, ("output",)))
    return read + written > given


def _together(first: UsageShape, *others: UsageShape) -> UsageShape:
    """Return one shape for several that no field tells apart: the numbers may have the names of any of them."""
    shapes = (first, *others)
    return replace(
        first,
        read=tuple(name for shape in shapes for name in shape.read),
        written=tuple(name for shape in shapes for name in shape.written),
    )


_SHAPES = (
    _OPENHANDS,
    _together(openai.USAGE, deepseek.USAGE, litellm.USAGE),  # first, because LiteLLM adds Anthropic's names
    responses.USAGE,  # before Anthropic's, which gives no details of its input
    # All before Anthropic's shape: they use its names, but their input includes the cached tokens.
    _GEN_AI,
    _CODEX,
    _LANGCHAIN,
    _PYDANTIC_AI,
    _together(anthropic.USAGE, bedrock.USAGE),
    gemini.USAGE,
    gemini.USAGE_OF_INTERACTIONS,
    _AGENT_FRAMEWORK,
    replace(_AGENT_FRAMEWORK, input_has_cached=False, when=None),
    _LLAMA_CPP,
    _LANGFUSE,
    replace(_LANGFUSE, input_has_cached=False, when=None),
)
_OF_PROVIDERS = (*_SHAPES, litellm.USAGE, bedrock.USAGE)
_WRITTEN_FOR = [name for shape in _OF_PROVIDERS for name in shape.written_for]
_WRITTEN_DETAILS = [name for shape in _OF_PROVIDERS for name in shape.written_details]


def read_usage(answer: object) -> Usage:
    """Return the usage in a response, in its `usage` field, or in the last event of a stream that has one.

    Raises `UsageError` if there is no usage, or one with impossible numbers.
    """
    holders = (answer, *[value_at(answer, name) for name in _WRAPPERS])
    usages = (value_at(holder, name) for holder in holders for name in _USAGES)
    usage = _without_prefix(next((usage for usage in usages if usage is not None), answer))
    shape = next((one for one in _SHAPES if _is_of(usage, one)), None)
    if shape is None:
        keys = f" with the keys {', '.join([*map(str, usage)][:6])}" if isinstance(usage, Mapping) and usage else ""
        raise UsageError(
            f"no usage in a value of type {type(usage).__name__}{keys}; pass a response, its usage, or a stream event "
            "with both input and output tokens (OpenAI-shaped streams send it if asked with "
            'stream_options={"include_usage": true})'
        )
    found = _read(usage, shape)
    if shape.input_has_cached:
        # llama.cpp puts its timings beside a usage that may not know about the cache.
        timed = _counts(answer, ("timings.cache_n",))
        tells = found.tells_cache or bool(timed)
        found = replace(found, cached_read=max([found.cached_read, *timed]), tells_cache=tells)
    return sum([_read(part, shape) for part in shape.further(usage)] if shape.further else [], found)


def _is_of(usage: object, shape: UsageShape) -> bool:
    """Whether a usage has a shape."""
    has_names = all(value_at(usage, name) is not None for name in shape.known_by)
    return has_names and (shape.when is None or shape.when(usage))


def _without_prefix(usage: object) -> object:
    """Return OpenTelemetry's attributes as a usage, and anything else as it is.

    Some instrumentations count the input as Anthropic does, without what was cached; then it is less than that.
    """
    if not isinstance(usage, Mapping) or not any(str(name).startswith(_GEN_AI_PREFIX) for name in usage):
        return usage
    own = {str(name): count for name, count in usage.items() if str(name).startswith(_GEN_AI_PREFIX)}
    found = {name.removeprefix(_GEN_AI_PREFIX).replace(".", "_"): count for name, count in own.items()} | {"gen_ai": 1}
    cached = sum(max(_counts(found, names), default=0) for names in (_GEN_AI.read, _GEN_AI.written))
    given = max(_counts(found, _GEN_AI.input), default=0)
    said = max(_counts(found, _GEN_AI.output), default=0)
    whole = {"input_tokens": given + (cached if cached > given else 0), "output_tokens": said}
    return {
        **{name: found[name] for name in found if not name.endswith(("prompt_tokens", "completion_tokens"))},
        **whole,
    }


def _read(usage: object, shape: UsageShape) -> Usage:
    """Read a usage of a known shape."""
    written: Counter[str] = Counter()
    for lifetime in _LIFETIMES:
        names = [name.replace("*", lifetime) for name in _WRITTEN_FOR]
        written[lifetime] = max(_counts(usage, names), default=0)
    for detail in [detail for name in _WRITTEN_DETAILS for detail in items(value_at(usage, name))]:
        written[str(value_at(detail, "ttl") or "")] += sum(_counts(detail, ("input_tokens",)))
    total = max(_counts(usage, shape.written), default=written.total())
    if (known := written.total()) > total:
        raise UsageError(f"{known} tokens written by lifetime, {total} in all; pass what the provider sent, as it came")
    written[""] += total - known
    reads = _counts(usage, shape.read)
    read = max(reads, default=0)
    beside = 0 if shape.input_has_cached else read + total
    tells = bool(reads) or total > 0 or shape.leaves_out_zero
    return Usage(sum(_counts(usage, shape.input)) + beside, read, written, sum(_counts(usage, shape.output)), tells)


def _checked(name: str, count: object) -> int:
    """Return a number of tokens, or raise an error if it is none."""
    if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
        return count
    raise UsageError(f"{name} is {count!r:.40}, which is no number of tokens; pass what the provider sent, as it came")


def _counts(value: object, names: Iterable[str]) -> list[int]:
    """Return the numbers with these names, as far as they are there."""
    found = [(name, value_at(value, name)) for name in names]
    return [_checked(name, count) for name, count in found if count is not None]
