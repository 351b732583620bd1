"""What an answer cost: `read_usage` makes one `Usage` of whatever a provider says about the tokens it counted.

An answer is recognised by its own fields, as a dict or as an SDK's object, so nobody has to say who sent it.
Names are written here as Python writes them; in a dict their camelCase form is found as well. What a token
costs does not live here, and no SDK is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from deepprompt.errors import UsageError


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one answer, or of several summed, counted the same way for every provider."""

    input: int = 0
    """Every input token, cached or not."""
    cached_read: int = 0
    cached_write: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Lifetime to tokens, read-only and without zeros; the lifetime is "" where the provider does not say it."""
    output: int = 0

    def __post_init__(self) -> None:
        """Put the lifetimes in order, and refuse numbers that cannot be."""
        for name in ("input", "cached_read", "output"):
            _checked(name, getattr(self, name))
        written = {key: _checked(f"cached_write[{key!r}]", self.cached_write[key]) for key in self.cached_write}
        # Short lifetimes first, then those not known here by name, last the one that nobody told.
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
        """The input tokens that are paid in full."""
        return self.input - self.cached_read - self.written

    def __add__(self, other: Usage) -> Usage:
        if not isinstance(other, Usage):
            return NotImplemented
        read, written = self.cached_read + other.cached_read, Counter(self.cached_write) + Counter(other.cached_write)
        return Usage(self.input + other.input, read, written, self.output + other.output)

    def __reduce__(self) -> tuple[type[Usage], tuple[int, int, dict[str, int], int]]:
        """Let a usage be copied and pickled, which a read-only mapping cannot be."""
        return Usage, (self.input, self.cached_read, dict(self.cached_write), self.output)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The names, in strings of several, under which one kind of usage says its numbers.

    The numbers of `input` and of `output` are summed. Those of `read` and of `written` are names for one and the
    same number, so the largest counts: a gateway may fill in one of them and leave another at zero.
    """

    known_by: str
    read: str
    written: str = ""
    input: str = "input_tokens"
    output: str = "output_tokens"
    input_has_cached: bool = True


_SHAPES = (
    # OpenAI Chat, and those who speak it: DeepSeek, vLLM, SGLang, llama.cpp, LiteLLM. First, because LiteLLM adds
    # Anthropic's names. DeepSeek's prompt_cache_miss_tokens is what was not read; it says nothing of a write.
    _Shape(
        known_by="prompt_tokens",
        input="prompt_tokens",
        output="completion_tokens",
        read="prompt_tokens_details.cached_tokens cache_read_input_tokens prompt_cache_hit_tokens",
        written="prompt_tokens_details.cache_write_tokens prompt_tokens_details.cache_creation_tokens "
        "cache_creation_input_tokens",
    ),
    # OpenAI Responses. Before Anthropic, which gives no details of its input.
    _Shape(
        known_by="input_tokens input_tokens_details",
        read="input_tokens_details.cached_tokens",
        written="input_tokens_details.cache_write_tokens",
    ),
    # LangChain's usage_metadata and pydantic-ai's RequestUsage, which count alike for every provider. Before Anthropic,
    # whose names they use for other numbers: here the input has what was cached in it.
    _Shape(
        known_by="input_tokens input_token_details",
        read="input_token_details.cache_read",
        written="input_token_details.cache_creation",
    ),
    _Shape(known_by="input_tokens cache_read_tokens", read="cache_read_tokens", written="cache_write_tokens"),
    # Anthropic Messages and Bedrock Converse. A mere count of tokens has no output, an old message_delta no input.
    _Shape(
        known_by="input_tokens output_tokens",
        read="cache_read_input_tokens",
        written="cache_creation_input_tokens cache_write_input_tokens",
        input_has_cached=False,
    ),
    # Gemini generateContent; the Live API calls the candidates a response.
    _Shape(
        known_by="prompt_token_count",
        input="prompt_token_count tool_use_prompt_token_count",
        output="candidates_token_count response_token_count thoughts_token_count",
        read="cached_content_token_count",
    ),
    # Gemini Interactions.
    _Shape(
        known_by="total_input_tokens",
        input="total_input_tokens total_tool_use_tokens",
        output="total_output_tokens total_thought_tokens",
        read="total_cached_tokens",
    ),
    # llama.cpp's timings, where there is no usage: prompt_n is what the cache left to process.
    _Shape(known_by="prompt_n cache_n", input="prompt_n cache_n", output="predicted_n", read="cache_n"),
)
_USAGES = ("usage", "usage_metadata", "total_usage", "timings")
_WRAPPERS = ("message", "response", "interaction", "metadata")
_LIFETIMES = ("5m", "30m", "1h", "12h")
_BY_LIFETIME = (
    "cache_creation.ephemeral_*_input_tokens "
    "prompt_tokens_details.cache_creation_token_details.ephemeral_*_input_tokens "
    "prompt_tokens_details.cache_write_tokens_details.ttl_*_tokens "
    "input_tokens_details.cache_write_tokens_details.ttl_*_tokens"
)


def read_usage(answer: object) -> Usage:
    """Return what an answer, its usage, or the last event of a stream that has usage says it cost."""
    holders = (answer, *[_at(answer, name) for name in _WRAPPERS])
    usages = (_at(holder, name) for holder in holders for name in _USAGES)
    usage = next((usage for usage in usages if usage is not None), answer)
    shapes = [shape for shape in _SHAPES if all(_at(usage, name) is not None for name in shape.known_by.split())]
    if not shapes:
        keys = f" with the keys {', '.join([*map(str, usage)][:6])}" if isinstance(usage, Mapping) and usage else ""
        raise UsageError(
            f"no usage in a value of type {type(usage).__name__}{keys}; pass an answer, its usage, or a stream's event "
            "with both input and output tokens (OpenAI-shaped streams send it if asked with "
            'stream_options={"include_usage": true})'
        )
    found = _read(usage, shapes[0])
    if shapes[0].input_has_cached:
        # llama.cpp puts its timings beside a usage that need not know of the cache.
        return replace(found, cached_read=max([found.cached_read, *_counts(answer, "timings.cache_n")]))
    # anthropic 2.8.0 on BetaUsage.iterations: "A `compaction` entry's tokens are not included in the top-level
    # `usage` fields". They are paid, so they are added. Other entries break down the top level, except
    # `advisor_message`, which is another model at another price and would falsify a sum.
    compactions = [part for part in _items(usage, "iterations") if _at(part, "type") == "compaction"]
    return sum([_read(part, shapes[0]) for part in compactions], found)


def _read(usage: object, shape: _Shape) -> Usage:
    """Read a usage of a known shape."""
    written: Counter[str] = Counter()
    for lifetime in _LIFETIMES:
        written[lifetime] = max(_counts(usage, _BY_LIFETIME.replace("*", lifetime)), default=0)
    for detail in _items(usage, "cache_details"):  # Bedrock's
        written[str(_at(detail, "ttl") or "")] += sum(_counts(detail, "input_tokens"))
    total = max(_counts(usage, shape.written), default=written.total())
    if (told := written.total()) > total:
        raise UsageError(f"{told} tokens written by lifetime, {total} in all; pass what the provider sent, as it came")
    written[""] += total - told
    read = max(_counts(usage, shape.read), default=0)
    beside = 0 if shape.input_has_cached else read + total
    return Usage(sum(_counts(usage, shape.input)) + beside, read, written, sum(_counts(usage, shape.output)))


def _checked(name: str, count: object) -> int:
    """A number of tokens, or an error if it is none."""
    if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
        return count
    raise UsageError(f"{name} is {count!r:.40}, which is no number of tokens; pass what the provider sent, as it came")


def _counts(value: object, names: str) -> list[int]:
    """The numbers that are there, of those with these names."""
    found = [(name, _at(value, name)) for name in names.split()]
    return [_checked(name, count) for name, count in found if count is not None]


def _items(value: object, name: str) -> Sequence[object]:
    """The list of that name, empty where there is none."""
    items = _at(value, name)
    return items if isinstance(items, list | tuple) else ()


def _at(value: object, path: str) -> object:
    """What stands at a dotted path of names, or None; a dict may write them in camelCase."""
    for name in path.split("."):
        if isinstance(value, Mapping):
            head, *rest = name.split("_")
            value = value.get(name, value.get(head + "".join(map(str.capitalize, rest))))
        else:
            value = getattr(value, name, None)
    return value
