"""`deepprompt blame`: where two prompts, sessions or requests first differ, what changed there, and the cost."""

from __future__ import annotations

import argparse
import dataclasses
import json

from deepprompt.checks.blame.blame import Blame, blame, total_tokens
from deepprompt.checks.cache.price import ANY, Price, price_change
from deepprompt.commands.inputs import load_request_and_unknown
from deepprompt.commands.options import check_provider, given
from deepprompt.commands.output import write, write_json, write_lines
from deepprompt.fleet.prices import bundled_prices
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.recognise import model_of, provider_of_model
from deepprompt.providers.rules import Rules
from deepprompt.providers.segments import Segment
from deepprompt.text.display import counted, display
from deepprompt.text.secrets import redact

_MOST_CHANGES = 20
# Kinds of changes that a terminal does not show.
_UNSEEN = ("Unicode form", "byte order mark", "line ends", "white space", "trailing blanks", "escapes")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `blame`."""
    parser.epilog = (
        "A and B are files: the text of a prompt, what build --json printed, a saved session, or the JSON of a "
        "recorded request to any provider; or functions, as module:function. - is standard input. "
        "A alone is a log as 'deepprompt report' reads it: it shows every break, with everything that changed. "
        "Exit 0: B begins with all of A, so the cache loses nothing; 1: it does not; 2: wrong usage."
    )
    parser.add_argument("old", metavar="A", type=given, help="the earlier prompt or request")
    parser.add_argument("new", metavar="B", nargs="?", type=given, help="the later one; without it, A is a log")
    parser.add_argument(
        "--provider", type=given, metavar="NAME", help="estimate the cost by the rules of this provider"
    )
    parser.add_argument(
        "--model", type=given, metavar="NAME", help="the model to price for (default: the model that B names)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the first difference, its place and its cost."""
    if options.old == options.new == "-":
        options.usage_error("A and B cannot both be standard input")
    if options.new is None:
        return _run_on_log(options)
    if options.model and not options.provider:
        options.usage_error("--model needs --provider NAME, the provider of the model")
    (old, before), (new, after) = map(load_request_and_unknown, (options.old, options.new))
    rules = _rules(options, new)
    price = price_change(old, new, rules)
    found = blame(old, new)
    kept = total_tokens(old)
    added = total_tokens(new) - kept
    if options.json:
        unknown = {name: _differs(name, before, after) for name in {**before, **after}}
        same = {"miss": False, "kept": kept, "after": 0, "lost": 0, "new": added}
        report = same if found is None else _report(found, price, rules)
        write_json(report | ({"unknown": unknown} if unknown else {}))
    elif found is None:
        write(f"B begins with all of A: {kept:,} tokens can be read, {added:,} are new (estimated)\n")
    else:
        write_lines(_described(found, price, rules))
        if kept < rules.minimum:
            write(f"  note   A has {kept:,} tokens, and fewer than {rules.minimum:,} are not cached\n")
    if not options.json:
        write_lines(_unknown(before, after))
    return 0 if found is None else 1


def _unknown(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return a note on the fields that no provider's file knows: whether a cache depends on them, nobody can tell."""
    differ = [name for name in {**before, **after} if _differs(name, before, after) == "differs"]
    names = f"{display(', '.join(differ or after))[:200]}{'' if differ else '; equal in both'}"
    return (
        [f"note: fields that deepprompt does not know{' differ' if differ else ''}: {names}"] if differ or after else []
    )


def _differs(name: str, before: dict[str, str], after: dict[str, str]) -> str:
    return "equal" if before.get(name) == after.get(name) else "differs"


def _run_on_log(options: argparse.Namespace) -> int:
    """Print every break of a log: what changed first, everything else that changed, and what it costs."""
    from deepprompt.checks.blame.differences import all_changes
    from deepprompt.fleet.breaks import breaks_in

    if options.provider:
        check_provider(options, bundled_facts().providers())
    reports: list[dict[str, object]] = []
    breaks = 0
    for one in breaks_in(options.old, options.provider or "", options.model or ""):
        breaks += 1
        rules = _rules(options, one.new)
        changes = all_changes(one.old, one.new)
        if options.json:
            places = [{"what": what, "place": place} for what, place in changes]
            report = _report(one.found, one.price, rules)
            reports.append({"request": one.where, "after_request": one.after, **report, "changes": places})
            continue
        lines = _described(one.found, one.price, rules)
        write_lines([f"{one.where}, after {one.after}", *(f"  {line}" for line in lines)])
        write_lines([*(f"    {what:<8} {display(place)}" for what, place in changes[:_MOST_CHANGES]), ""])
    if options.json:
        write_json(reports)
    elif not breaks:
        write("nothing broke: each request begins with all of the one before it in its conversation\n")
    return int(bool(breaks))


def _rules(options: argparse.Namespace, new: list[Segment]) -> Rules:
    """Return the rules to price the change by: those of the options, else of the model that B names."""
    facts = bundled_facts()
    model = options.model or model_of(new)
    if not options.provider:
        provider = provider_of_model(model)
        rules = facts.rules(provider, model) if provider else ANY
        return rules if rules.known else ANY
    check_provider(options, facts.providers())
    if not model:
        options.usage_error(f"--provider {options.provider} needs --model NAME: B does not say its model")
    return facts.rules(facts.behind(options.provider, model), model)


def _basis(rules: Rules) -> str:
    if rules is ANY:
        return "0.1 x for a read; --provider NAME counts by its own"
    known = "" if rules.known else ", which do not know this model"
    prices = f"{rules.read_price:g} x for a read, else {rules.default_write_price:g} x"
    return f"{prices}: {rules.provider} {rules.model}, facts of {rules.as_of}{known}"


def _report(found: Blame, price: Price, rules: Rules) -> dict[str, object]:
    what = {"miss": True, "why": found.why} | dataclasses.asdict(found)
    what |= {key: redact(str(what[key])) for key in ("old", "new")}
    simulated = {"read": price.charge.read, "could_read": price.could, "lost": price.lost}
    return what | simulated | {"cost": round(price.cost, 3), "prices": _basis(rules)}


def _described(found: Blame, price: Price, rules: Rules) -> list[str]:
    lines = [
        f"{found.kind}: {found.why}",
        f"  where  {_where(found)}, byte {found.offset:,} of the request's text",
        f"  was    {_quoted(found.old, found.kind)}",
        f"  is     {_quoted(found.new, found.kind)}",
        f"  kept   {counted(found.kept, 'token')} before it, at most (estimated)",
        f"  after  {counted(found.after, 'token')}, {found.repeated:,} of them sent before (estimated)",
        f"  lost   {price.lost:,} of {price.could:,} tokens that the cache had (simulated)",
        f"  costs  {price.cost:,.0f} tokens at the plain input price ({_basis(rules)}){_money(price, rules)}",
    ]
    if price.note:
        lines.append(f"  note   {price.note}")
    if found.changing:
        lines.append("  note   this is the turn's context, which may change; what is to be cached stands before it")
    return lines


def _money(price: Price, rules: Rules) -> str:
    """Return what the loss costs by the bundled price table; "" for a model without a price."""
    prices = bundled_prices()
    known = prices.of(rules.model) if rules.model and price.cost else None
    if known is None:
        return ""
    return f", {prices.sign}{price.cost * known.input / 1e6:.4f}"


def _where(found: Blame) -> str:
    """Return the file and line in the form that editors take, or else the block and what it belongs to."""
    if found.file:
        where = f"{found.file}:{found.line}" if found.line else found.file
        return where if found.file in found.place else f"{where} in {found.place}"
    where = found.place if found.source in found.place else f"{found.place}, {found.source}"
    return f"{where}, line {found.line}" if found.line else where


def _quoted(line: str, kind: str) -> str:
    """Return a line so that trailing blanks, line ends and, if they matter, composed characters are visible."""
    return json.dumps(redact(line), ensure_ascii=kind in _UNSEEN) if line else "(nothing)"
