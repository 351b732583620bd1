"""`deepprompt cache`: what a provider's cache reads and writes in a conversation, request by request, and the cost."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from deepprompt.commands.inputs import load_transcript
from deepprompt.commands.options import check_provider, count, given, seconds
from deepprompt.commands.output import say, write_json, write_lines
from deepprompt.providers.facts import bundled_facts, load_facts
from deepprompt.providers.rules import Rules, unknown_model
from deepprompt.session.transcript import Replay, has_price


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cache`."""
    parser.add_argument(
        "transcript",
        metavar="TRANSCRIPT",
        help='JSON or JSON Lines: request bodies, each optionally as {"at": TIME, "body": ...}; or a conversation, as '
        'a list of messages or as {"messages": [...], "tools": [...], "system": ...}; or a saved session; - is '
        "standard input",
    )
    parser.add_argument(
        "--provider",
        type=given,
        required=True,
        metavar="NAME",
        help="the provider whose rules apply, such as anthropic or vllm",
    )
    parser.add_argument(
        "--model", type=given, required=True, metavar="NAME", help="the model, as the provider calls it"
    )
    parser.add_argument("--compare", type=given, metavar="FILE", help="another transcript, shown beside the first")
    parser.add_argument(
        "--gap",
        type=seconds,
        metavar="SECONDS",
        help="the time between requests if the transcript has no times (default: 60; with 0 nothing expires)",
    )
    parser.add_argument(
        "--cache-tokens",
        type=count,
        metavar="N",
        help="how many tokens an engine's cache holds, such as vllm's (default: everything)",
    )
    parser.add_argument(
        "--facts", type=given, metavar="FILE", help="your own facts about models, which override the bundled ones"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Print what each request reads, writes and pays in full, the totals, and the assumptions."""
    facts = load_facts(options.facts) if options.facts else bundled_facts()
    check_provider(options, facts.providers())
    if options.transcript == options.compare == "-":
        options.usage_error("TRANSCRIPT and --compare cannot both be standard input")
    rules = facts.rules(facts.behind(options.provider, options.model), options.model)
    if unknown := unknown_model(rules):
        say(unknown)
    paths = [options.transcript, *([options.compare] if options.compare else [])]
    if options.cache_tokens and rules.caching != "automatic":
        options.usage_error(f"--cache-tokens is for engines; {rules.provider} does not say how much its cache holds")
    transcripts = [load_transcript(path, options.provider, rules, facts) for path in paths]
    replays = [one.replay(rules, options.gap, cache_tokens=options.cache_tokens) for one in transcripts]
    if options.json:
        reports = [_report(replay) for replay in replays]
        both = {"first": reports[0], "second": reports[-1], "ratio": _ratio(replays[0], replays[-1])}
        write_json(both if options.compare else reports[0])
    else:
        write_lines(_side_by_side(*replays) if options.compare else _table(replays[0]))
    return 0


def _cost(replay: Replay) -> float:
    """Return the cost in tokens at the plain input price, or for an engine the tokens that it has to process."""
    result = replay.result
    return result.paid if has_price(result.rules) else result.total - result.read


def _lifetimes(replay: Replay) -> list[str]:
    """Return the lifetimes that something was written for, in the order of the facts."""
    written = {life for charge in replay.result.charges for life in charge.written}
    return [life for life in replay.result.rules.lifetimes if life in written]


def _report(replay: Replay) -> dict[str, object]:
    """Return everything, for JSON."""
    result, rules = replay.result, replay.result.rules
    requests = [
        {
            "request": number,
            "at": replay.times[number - 1] if replay.times else None,
            "input": charge.total,
            "read": charge.read,
            "written": dict(charge.written),
            "full": charge.full,
            "why": charge.why,
        }
        for number, charge in enumerate(result.charges, 1)
    ]
    lives = _lifetimes(replay)
    return {
        "transcript": replay.name,
        "provider": rules.provider,
        "model": rules.model,
        "facts_as_of": rules.as_of,
        "model_known": rules.known,
        "requests": requests,
        "input": result.total,
        "read": result.read,
        "written": {life: sum(charge.written.get(life, 0) for charge in result.charges) for life in lives},
        "full": sum(charge.full for charge in result.charges),
        "read_share": result.read_share,
        "price": result.price if has_price(rules) else None,
        "assumed": list(replay.assumed),
    }


def _columns(replay: Replay) -> tuple[list[str], list[list[str]]]:
    """Return the heads of the columns of numbers, and the cells of each request and then of all together."""
    lives = _lifetimes(replay)
    heads = [f"written {life}" for life in lives] if len(lives) > 1 else ["written"]
    rows = [
        [charge.total, charge.read, *(charge.written.get(life, 0) for life in lives or [""]), charge.full]
        for charge in replay.result.charges
    ]
    rows.append([sum(column) for column in zip(*rows, strict=True)])
    return ["input", "read", *heads, "full"], [[f"{cell:,}" for cell in row] for row in rows]


def _table(replay: Replay) -> list[str]:
    result = replay.result
    heads, cells = _columns(replay)
    whys = [*(charge.why for charge in result.charges), ""]
    rows = [["request", *heads, "why"]]
    rows += [[number, *row, why] for number, row, why in zip(_numbers(len(cells)), cells, whys, strict=True)]
    price = f"price: {result.price:.3f} of what the input costs without a cache"
    if not has_price(result.rules):
        price = f"worked through: {_cost(replay):,} of {result.total:,} tokens; {result.rules.provider} has no price"
    share = f"read after the first request: {result.read_share:.1%} of the input"
    return _page(result.rules, [], rows, [share, price], replay.assumed)


def _side_by_side(first: Replay, second: Replay) -> list[str]:
    (heads, cells), (other_heads, others) = _columns(first), _columns(second)
    rows = [["request", *(f"{head} 1" for head in heads), *(f"{head} 2" for head in other_heads), ""]]
    pairs = zip_longest(cells[:-1], others[:-1])
    for one, two in (*pairs, (cells[-1], others[-1])):
        rows.append(["", *(one or ["-"] * len(heads)), *(two or ["-"] * len(other_heads)), ""])
    for row, number in zip(rows[1:], _numbers(len(rows) - 1), strict=True):
        row[0] = number
    share, other_share = first.result.read_share, second.result.read_share
    lines = [f"read after the first request: {share:.1%} and {other_share:.1%} of the input"]
    if has_price(first.result.rules):
        prices = f"{first.result.price:.3f} and {second.result.price:.3f}"
        lines.append(f"price: {prices} of what the input costs without a cache")
    ratio = _ratio(first, second)
    unit = "tokens at the plain price" if has_price(first.result.rules) else "tokens to work through"
    times = "" if ratio is None else f": {ratio:.3f} times as much"
    lines.append(f"the first costs {_cost(first):,.0f} {unit}, the second {_cost(second):,.0f}{times}")
    names = [f"1: {first.name}", f"2: {second.name}"]
    return _page(first.result.rules, names, rows, lines, dict.fromkeys((*first.assumed, *second.assumed)))


def _ratio(first: Replay, second: Replay) -> float | None:
    """Return the cost of the second as a multiple of the first."""
    return _cost(second) / _cost(first) if _cost(first) else None


def _numbers(rows: int) -> list[str]:
    return [*map(str, range(1, rows)), "all"]


def _page(
    rules: Rules, names: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[str], assumed: Iterable[str]
) -> list[str]:
    """Return the lines of a table, with those above and below it."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    shown = [f"{rules.provider}, {rules.model}, facts of {rules.as_of}", *names, ""]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        shown.append("  ".join([*cells, row[-1]]).rstrip())
    return [*shown, "", *lines, "", "assumed:", *(f"  {sentence}" for sentence in assumed)]
