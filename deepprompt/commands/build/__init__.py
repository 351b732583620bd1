"""`deepprompt build`: build a prompt and print it. Each way to build one has its own module in this package."""

from __future__ import annotations

import argparse

from deepprompt.commands.build import folder, request
from deepprompt.commands.build.options import (
    AGENT_OPTIONS,
    PRESET_OPTIONS,
    add_agent_options,
    add_preset_options,
)
from deepprompt.commands.build.preset import compose_preset
from deepprompt.commands.options import given, set_options
from deepprompt.commands.output import say_notes, write, write_json
from deepprompt.frozen import replace
from deepprompt.prompt import Prompt, sha256_hex
from deepprompt.tokens import estimate_tokens


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `build`."""
    parser.epilog = (
        "Only the prompt goes to standard output; notes about skipped, refused or truncated input go to standard "
        "error. Exit 0: built; 1: failed; 2: wrong usage."
    )
    folder.add_options(parser)
    add_preset_options(parser)
    add_agent_options(parser)
    request.add_options(parser)
    out = parser.add_argument_group("what to print")
    out.add_argument("--prefix-only", action="store_true", help="print only the static prefix, up to the boundary")
    out.add_argument("--json", action="store_true", help="print the text, parts, hashes and notes as JSON")
    out.add_argument(
        "--out",
        type=given,
        metavar="FILE",
        help="write to a file instead of standard output",
    )
    out.add_argument("--quiet", action="store_true", help="print no notes about skipped or truncated input")


def run(options: argparse.Namespace) -> int:
    """Build the prompt and print it. Each way to build one is imported only when it is used."""
    request.check(options)
    rows: list[dict[str, object]] = []
    prompt = compose(options, rows)
    if options.to:
        return request.run(options, prompt)
    if not options.quiet and not options.json:
        say_notes(prompt.notes)
    if options.json:
        write_json(_report(prompt) | ({"conditions": rows} if rows else {}), options.out or "")
    else:
        write(prompt.text, options.out or "")
    return 0


def compose(options: argparse.Namespace, rows: list[dict[str, object]]) -> Prompt:
    """Return the prompt that the options ask for, and add to `rows` which parts of a preset are in it and why."""
    if options.custom_file and (options.append or options.append_file):
        options.usage_error("--custom-file is printed as it is: --append and --append-file cannot add to it")
    if options.base and options.preset:
        options.usage_error(f"--preset {options.preset} has its own version: write --preset NAME@VERSION")
    if options.custom_file and (alone := set_options(options, ("base", "base_file", "flag", "set", "list"))):
        options.usage_error(f"--custom-file is printed as it is: {alone[0]} cannot change it")
    if not options.agent and (alone := set_options(options, AGENT_OPTIONS)):
        options.usage_error(f"{alone[0]} needs --agent FILE")
    others = (
        "preset", "base", "base_file", "custom_file", "parts", "append", "append_file", "no_project", *PRESET_OPTIONS,
    )  # fmt: skip
    if options.agent and (other := set_options(options, others)):
        options.usage_error(f"{other[0]} does not go with --agent, which has its own sections")
    if options.parts and not options.preset and not options.base:
        options.usage_error("--parts needs --preset NAME or --base FAMILY@VERSION, to say what to take")
    if options.agent:
        from deepprompt.commands.build.agent import compose_agent

        prompt = compose_agent(options)
    else:
        prompt = compose_preset(options, rows)
    if options.prefix_only:
        prompt = replace(prompt, parts=prompt.static_parts)
    return prompt


def _report(prompt: Prompt) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "text": prompt.text,
        "sha256": prompt.sha256,
        "prefix_sha256": prompt.prefix_sha256,
        "bytes": len(prompt.text.encode()),
        "prefix_bytes": len(prompt.static_prefix.encode()),
        "tokens": estimate_tokens(prompt.text),
        "prefix_tokens": estimate_tokens(prompt.static_prefix),
        "parts": [
            {
                "name": part.name,
                "pace": part.pace.name.lower(),
                "origin": part.origin,
                "bytes": len(part.text.encode()),
                "tokens": estimate_tokens(part.text),
                "sha256": sha256_hex(part.text),
            }
            for part in prompt.parts
        ],
        "tools": list(prompt.tools),
        "notes": [asdict(note) for note in prompt.notes],
    }
