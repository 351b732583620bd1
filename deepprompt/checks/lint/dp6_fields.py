"""The rules of DP6 about other fields: cache keys, fields that a model does not take, and LiteLLM's changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from deepprompt.checks.lint.findings import Finding, Rule
from deepprompt.checks.lint.request_view import ANTHROPICS, OPENAIS, RequestView
from deepprompt.providers.dialect import items

RULES = (
    Rule(
        "DP609", "key-per-request", "The prompt_cache_key looks different for every request.",
        "Use a constant one, such as a tenant's name and the version of the prompt.",
    ),
    Rule(
        "DP610", "cache-per-user", "The user_id gives each user a cache of their own.",
        "Leave it out, or send a tenant's id if users share a prompt.",
    ),
    Rule(
        "DP611", "field-of-other-models", "The request has a field that this model does not take.",
        "Send it only to models that do.", error=True,
    ),
    Rule(
        "DP612", "beside-cached-content", "Cached content is named beside a system instruction or tools.",
        "Put them into the cached content.", error=True,
    ),
    Rule(
        "DP613", "lost-in-litellm", "LiteLLM drops or replaces this on the way to the provider.",
        "Write it in the form that survives this route, as deepprompt build --to litellm does.",
    ),
)  # fmt: skip

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}", re.IGNORECASE)
# A time of day, or seconds since 1970. A date is fine: it changes only once a day.
_TIME = re.compile(r"\d{4}-?\d\d-?\d\d[T_ -]?\d\d[:-]?\d\d|(?<!\d)1[5-9]\d{8}(?:\d{3}){0,3}(?!\d)")
_PERSON = re.compile(r"[^@\s]+@[^@\s]+\.\w+|user|\d{5,}", re.IGNORECASE)
_NEWER = "prompt_cache_options"
_BESIDE = ("systemInstruction", "system_instruction", "tools", "toolConfig", "tool_config")
# LiteLLM always drops Anthropic's marks on these routes; measured with 1.108.4.
_DROPPING = ("deepseek/", "mistral/", "hosted_vllm/", "xai/", "openrouter/openai/")
_MAKING = ("gemini/", "vertex_ai/gemini")
_REPLACING = ("anthropic/", "bedrock/", "gemini/", "vertex_ai/")


def find(sent: RequestView) -> Iterator[Finding]:
    """Yield the faults of a request's fields."""
    yield from _keys(sent)
    yield from _newer(sent)
    yield from _system_inside(sent)
    yield from _beside_cached(sent)
    if sent.is_litellm:
        yield from _litellm_marks(sent)
        yield from _litellm_texts(sent)


def _keys(sent: RequestView) -> Iterator[Finding]:
    """Find cache keys that keep requests from sharing a cache."""
    key = sent.body.get("prompt_cache_key")
    if isinstance(key, str) and not sent.subject.earlier:  # with earlier requests, DP712 sees a change
        what = "a random id" if _UUID.search(key) else "a time" if _TIME.search(key) else ""
        if what:
            message = f"the key has {what} in it: with a new one for each request nothing is ever read"
            yield sent.found("DP609", "prompt_cache_key", message)
    if sent.provider == "deepseek":
        metadata = sent.body.get("metadata")
        inner = metadata.get("user_id") if isinstance(metadata, Mapping) else None
        for place, user in (("user_id", sent.body.get("user_id")), ("metadata.user_id", inner)):
            if isinstance(user, str) and (_PERSON.search(user) or _UUID.search(user)):
                message = "the id looks like one user's; with it nothing is read of what others have sent"
                yield sent.found("DP610", place, message)


def _newer(sent: RequestView) -> Iterator[Finding]:
    """Find OpenAI's fields for newer models where they are refused."""
    if "prompt_cache_retention" in sent.body and sent.options.get("ttl"):
        message = "prompt_cache_retention beside prompt_cache_options.ttl; each is for other models"
        yield sent.found("DP611", "prompt_cache_retention", message)
    rules = sent.rules
    is_openai = rules is not None and rules.provider.startswith("openai")
    # Not measured on LiteLLM's other routes.
    if rules is None or not rules.known or (rules.marks and is_openai) or (sent.is_litellm and not is_openai):
        return
    places = [mark.place for mark in sent.marks if mark.field == OPENAIS]
    found = [(OPENAIS, places[0])] if places else []
    found += [(_NEWER, _NEWER)] if sent.options else []
    for field, place in found:
        yield sent.found("DP611", place, f"{rules.label} does not take {field}")


def _system_inside(sent: RequestView) -> Iterator[Finding]:
    """Find a system message inside the conversation for a model that takes none there."""
    rules = sent.rules
    if rules is None or not rules.known or rules.system_messages or sent.is_litellm:
        return
    for number, message in enumerate(items(sent.body.get("messages"))):
        if rules.provider == "anthropic" and isinstance(message, Mapping) and message.get("role") == "system":
            yield sent.found("DP611", f"messages[{number}]", f"{rules.label} takes no system message among the others")
            return


def _beside_cached(sent: RequestView) -> Iterator[Finding]:
    """Find fields that have to be inside the cached content; google-genai has them in `config`."""
    config = sent.body.get("config")
    for holder, place in ((sent.body, ""), (config if isinstance(config, Mapping) else {}, "config.")):
        if holder.get("cachedContent") or holder.get("cached_content"):
            beside = [key for key in _BESIDE if holder.get(key)]
            if beside:
                message = f"{', '.join(beside)} beside cached content, which Gemini refuses"
                yield sent.found("DP612", f"{place}{beside[0]}", message)


def _litellm_marks(sent: RequestView) -> Iterator[Finding]:
    """Find Anthropic's marks that LiteLLM drops or converts."""
    marks = [mark for mark in sent.marks if mark.field == ANTHROPICS]
    if not marks:
        return
    model, rules = sent.model.lower(), sent.rules
    place = marks[0].place
    if model.startswith(_MAKING) or sent.provider == "gemini":
        message = "LiteLLM makes cached content of what is marked for Gemini, which is paid for by the hour"
        yield sent.found("DP613", place, message)
    elif model.startswith(_DROPPING) or sent.provider in ("deepseek", "vllm"):
        yield sent.found("DP613", place, "LiteLLM drops cache_control on this route")
    elif (model.startswith("openai/") or sent.provider == "openai") and not _elsewhere(sent):
        older = rules is not None and rules.known and not rules.marks
        if sent.body.get("tools") or older:
            why = "for this model" if older else "once there are tools; a prompt_cache_breakpoint arrives"
            yield sent.found("DP613", place, f"LiteLLM drops cache_control on the way to OpenAI {why}")


def _elsewhere(sent: RequestView) -> bool:
    """Whether a request goes to a custom address; then LiteLLM keeps the marks."""
    azure = sent.model.lower().startswith("azure")  # not measured
    return azure or any(sent.body.get(key) for key in ("api_base", "base_url"))


def _litellm_texts(sent: RequestView) -> Iterator[Finding]:
    """Find blank texts, which LiteLLM replaces by a sentence of its own."""
    model = sent.model.lower()
    if not (model.startswith(_REPLACING) or sent.provider in ("anthropic", "bedrock", "gemini")):
        return
    for segment in sent.segments:
        said = segment.kind in ("text", "system") and segment.role in ("user", "system")
        if said and not segment.text.strip():
            yield sent.found("DP613", segment.place, "LiteLLM puts a sentence of its own in place of a blank text")
