"""The review of a lock: what changed since it was written, part by part, and what filling the caches again costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from deepprompt.checks.lock.lock import LockChange, LockedPart, LockedPrompt
from deepprompt.checks.settings import Settings
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.rules import Rules
from deepprompt.text.display import counted


@dataclass(frozen=True, slots=True)
class Rewarming:
    """The cost of filling one cache again, in tokens at the plain input price."""

    kept: int
    written: int
    cost: float
    why_none: str = ""
    """Why nothing is lost, if that is so."""
    why_full: str = ""
    """Why nothing is cached any more, if that is so; then every request has this cost."""


def _uncached(prompt: LockedPrompt, rules: Rules) -> str:
    """Return why nothing of a prompt is cached; "" if something is."""
    if rules.caching == "marked" and prompt.model and not any(part.mark for part in prompt.parts):
        return "without a mark nothing is cached"
    if prompt.tokens < rules.minimum:
        return f"fewer than {rules.minimum:,} tokens are not cached"
    return ""


def rewarming(drift: LockChange, rules: Rules) -> Rewarming:
    """Return what a change costs for each cache entry of a provider: tokens written that could have been read."""
    if drift.new is None or drift.old is None:
        return Rewarming(0, 0, 0.0, "there is nothing to read yet, or nothing to send any more")
    if drift.old.tokens < rules.minimum or rules.caching == "none":
        return Rewarming(0, 0, 0.0, f"was not cached: {drift.old.tokens:,} tokens of at least {rules.minimum:,}")
    if why := _uncached(drift.new, rules):
        return Rewarming(0, 0, drift.new.tokens * (1 - rules.read_price), why_full=why)
    if drift.old.fingerprint == drift.new.fingerprint and drift.same >= drift.new.tokens:
        return Rewarming(drift.new.tokens, 0, 0.0, "what is sent before the last mark is the same")
    kept = drift.marked if rules.caching in ("marked", "implicit") else drift.same
    kept = 0 if rules.whole_units or kept < rules.minimum else kept // rules.granularity * rules.granularity
    written = drift.new.tokens - kept
    return Rewarming(kept, written, written * (rules.default_write_price - rules.read_price))


def written(drifts: Sequence[LockChange], settings: Settings, made: Sequence[LockedPrompt]) -> Iterator[str]:
    """Yield what changed in a lock that was just written, in lines for a person."""
    for drift in drifts:
        yield from _changes(drift) if drift.old else ()
    yield f"{settings.lock}: {counted(len(made), 'prompt')}, {counted(_tokens(made), 'token')} locked"


def _tokens(prompts: Sequence[LockedPrompt]) -> int:
    return sum(prompt.tokens for prompt in prompts)


def review(drifts: Sequence[LockChange], settings: Settings, made: Sequence[LockedPrompt]) -> Iterator[str]:
    """Yield what changed since the lock was written, in lines for a person."""
    if not drifts:
        said = "1 prompt is as it was" if len(made) == 1 else f"all {len(made)} prompts are as they were"
        yield f"{settings.lock}: {said} locked ({counted(_tokens(made), 'token')})"
        return
    for drift in drifts:
        yield from _changes(drift)
        if drift.old and drift.new:
            yield f"  the first {drift.same:,} tokens are the same; writing the rest costs more than reading it, by"
            for cost in _costs(drift, settings):
                yield f"    {cost['provider']} {cost['model']}: {_cost(cost)}"
    yield f"If that is meant, run 'deepprompt lock' and commit {settings.lock}."


def _changes(drift: LockChange) -> Iterator[str]:
    name = drift.name
    if drift.old is None or drift.new is None:
        yield f"{name}: not locked yet" if drift.old is None else f"{name}: locked, but the project has no such prompt"
        return
    yield f"{name}: {drift.old.tokens:,} -> {drift.new.tokens:,} tokens ({drift.new.tokens - drift.old.tokens:+,})"
    for sign, old, new in drift.rows:
        yield f"  {sign} {_change(old, new)}"
    if drift.old.target != drift.new.target:
        yield f"  ~ target: {drift.old.target} -> {drift.new.target}"


def _change(old: LockedPart | None, new: LockedPart | None) -> str:
    part = new or old
    assert part is not None
    name = f"{part.part} ({part.pace})"
    if old is None or new is None:
        tokens = part.tokens if old is None else -part.tokens
        return f"{name}: {tokens:+,} tokens" + (f", {part.version}" if part.version else "")
    if old == new:
        return f"{name}: stands elsewhere"
    if new.pace == old.pace == "setting":
        return f"{name}: {old.value} -> {new.value}"
    changes = [f"{old.tokens:,} -> {new.tokens:,} tokens ({new.tokens - old.tokens:+,})"]
    if old.sha256 == new.sha256:
        changes = []
    elif old.tokens == new.tokens:
        changes = [f"other text, {old.bytes:,} -> {new.bytes:,} bytes"]
    if old.pace != new.pace:
        changes.append(f"pace {old.pace} -> {new.pace}")
    if old.mark != new.mark:
        changes.append(f"mark {old.mark or 'none'} -> {new.mark or 'none'}")
    if old.version != new.version:
        changes.append(f"{old.version or 'no version'} -> {new.version or 'no version'}")
    elif old.version and old.sha256 != new.sha256:
        changes.append(f"still {old.version}: other text under the same version")
    return f"{name}: {', '.join(changes)}"


def _costs(drift: LockChange, settings: Settings) -> list[dict[str, object]]:
    """Return the cost of filling the caches again, for the project's models or for one model of each provider."""
    rows: list[dict[str, object]] = []
    for rules in _rules(drift, settings):
        cost = rewarming(drift, rules)
        rows.append({"provider": rules.provider, "model": rules.model, "as_of": rules.as_of} | asdict(cost))
    return rows


def _rules(drift: LockChange, settings: Settings) -> list[Rules]:
    facts = bundled_facts()
    own = drift.new.model.partition("/") if drift.new else ("", "", "")
    if own[0] in facts.providers():
        return [facts.rules(own[0], own[2])]
    return [facts.rules(facts.behind(to, model), model) for to, model in settings.models or facts.examples()]


def _cost(cost: dict[str, object]) -> str:
    if cost["why_none"]:
        return f"nothing; {cost['why_none']}"
    if cost["why_full"]:
        return f"{cost['cost']:,.0f} tokens at the input price in each request: {cost['why_full']}"
    return (
        f"{cost['cost']:,.0f} tokens at the input price: {cost['written']:,} to write, {cost['kept']:,} can be read "
        f"(facts of {cost['as_of']})"
    )


def as_json(drifts: Sequence[LockChange], settings: Settings) -> dict[str, object]:
    """Return what changed since the lock was written, for JSON."""
    rows = [
        {
            "name": drift.name,
            "old": asdict(drift.old) if drift.old else None,
            "new": asdict(drift.new) if drift.new else None,
            "same": drift.same,
            "changes": [
                {
                    "change": sign,
                    "old": asdict(old) if old else None,
                    "new": asdict(new) if new else None,
                }
                for sign, old, new in drift.rows
            ],
            "costs": _costs(drift, settings),
        }
        for drift in drifts
    ]
    return {"lock": settings.lock, "drifted": len(drifts), "prompts": rows}
