"""`deepprompt build --to PROVIDER`: print the prompt as a provider's request."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from deepprompt.commands.options import given, own_text, set_options
from deepprompt.commands.output import say_notes, write, write_json
from deepprompt.errors import MessageError, ToolError
from deepprompt.frozen import replace
from deepprompt.prompt import Note, Prompt
from deepprompt.providers import TARGETS
from deepprompt.text.hygiene import from_system

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.providers.facts import Facts
    from deepprompt.request.request import Request

OPTIONS = (
    "model", "message", "messages", "max_output_tokens", "stream", "prefix_lifetime", "lifetime", "cache_key",
    "cached_content", "make_cached_content", "facts", "explain",
)  # fmt: skip

# Options of a request that a request for cached content does not take.
_NOT_CACHED = ("max_output_tokens", "stream", "prefix_lifetime", "lifetime")
_KEYED = ("openai", "openai-responses", "litellm")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a request."""
    wire = parser.add_argument_group("as a request")
    wire.add_argument(
        "--to",
        metavar="PROVIDER",
        choices=TARGETS,
        help=f"print the body of this provider's request, as JSON: {', '.join(TARGETS[:-1])} or {TARGETS[-1]}",
    )
    wire.add_argument("--model", type=given, metavar="NAME", help="the model, as the provider calls it")
    wire.add_argument("--message", type=given, metavar="TEXT", help="the user's message, after those of --messages")
    wire.add_argument(
        "--messages",
        type=given,
        metavar="FILE",
        help="the conversation: a JSON list of messages, or an object with messages and tools; - is standard input",
    )
    wire.add_argument("--max-output-tokens", type=_count, metavar="N", help="the limit for the response")
    wire.add_argument("--stream", action="store_true", help="ask for a stream that reports what was cached")
    wire.add_argument(
        "--prefix-lifetime",
        type=given,
        metavar="TIME",
        help="how long the tools and the system prompt are cached, such as 1h",
    )
    wire.add_argument("--lifetime", type=given, metavar="TIME", help="how long the conversation is cached")
    wire.add_argument("--cache-key", type=given, metavar="KEY", help="OpenAI's prompt_cache_key; one for each tenant")
    cached = wire.add_mutually_exclusive_group()
    cached.add_argument(
        "--cached-content", type=given, metavar="NAME", help="Gemini: continue after this cached content"
    )
    cached.add_argument(
        "--make-cached-content",
        metavar="SECONDS",
        type=_count,
        help="Gemini: print the request that creates cached content with this lifetime",
    )
    wire.add_argument(
        "--facts", type=given, metavar="FILE", help="your own facts about models, which override the bundled ones"
    )
    wire.add_argument(
        "--explain", action="store_true", help="print the places of the cache marks and the reasons instead of the body"
    )


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= len(text.lstrip("0")) <= 9:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, not {text!r:.40}")
    return int(text)


def check(options: argparse.Namespace) -> None:
    """End with wrong usage if options of a request contradict each other or would be ignored."""
    alone = set_options(options, OPTIONS)
    if not options.to and alone:
        options.usage_error(f"{alone[0]} needs --to PROVIDER, one of {', '.join(TARGETS)}")
    if not options.to:
        return
    if not options.model:
        options.usage_error(f"--to {options.to} needs --model NAME, the model as {options.to} calls it")
    if options.to != "gemini" and (of_gemini := set_options(options, ("cached_content", "make_cached_content"))):
        options.usage_error(f"{of_gemini[0]} needs --to gemini: cached content is Gemini's")
    if options.to not in _KEYED and options.cache_key:
        options.usage_error(f"--cache-key needs --to {' or '.join(_KEYED)}; {options.to} takes no key")
    if options.make_cached_content and (other := set_options(options, _NOT_CACHED)):
        options.usage_error(f"{other[0]} does not go with --make-cached-content, which asks for no response")


def run(options: argparse.Namespace, prompt: Prompt) -> int:
    """Print the request, or the explanation of its marks."""
    notes = [*prompt.notes]
    request = _build(options, prompt, notes)
    if not options.quiet and not options.json:
        say_notes(notes if options.explain else (*notes, *request.notes))
    if options.json:
        report = _report(request, notes)
        if options.explain:
            del report["body"]
        write_json(report, options.out or "")
    elif options.explain:
        write(request.explain(), options.out or "")
    else:
        write_json(request.body, options.out or "")
    return 0


def _build(options: argparse.Namespace, prompt: Prompt, notes: list[Note]) -> Request:
    from deepprompt.providers.facts import load_facts

    facts = load_facts(options.facts) if options.facts else None
    messages, tools = _conversation(options.messages) if options.messages else ([], None)
    if options.message:
        messages = [*messages, {"role": "user", "content": from_system(options.message, "message", notes)}]
    if tools is not None:
        prompt = replace(prompt, tools=(*prompt.tools, *tools))
    try:
        return _request(options, prompt, messages, facts)
    except (MessageError, ToolError) as error:
        of_file = options.messages and (error.place if isinstance(error, MessageError) else tools)
        raise type(error)(f"{_shown(options.messages)}: {error}" if of_file else str(error)) from None


def _request(
    options: argparse.Namespace, prompt: Prompt, messages: Sequence[Mapping[str, object]], facts: Facts | None
) -> Request:
    from deepprompt.request.request import build_cached_content, build_request

    if options.make_cached_content:
        ttl = f"{options.make_cached_content}s"
        return build_cached_content(prompt, messages, model=options.model, ttl=ttl, facts=facts)
    return build_request(
        prompt,
        messages,
        to=options.to,
        model=options.model,
        max_tokens=options.max_output_tokens,
        stream=options.stream,
        prefix_lifetime=options.prefix_lifetime or "",
        lifetime=options.lifetime or "",
        cache_key=options.cache_key or "",
        cached_content=options.cached_content or "",
        facts=facts,
    )


def _shown(path: str) -> str:
    return "standard input" if path == "-" else path


def _conversation(path: str) -> tuple[Sequence[Mapping[str, object]], Sequence[Mapping[str, object]] | None]:
    """Return the messages of a file, and its tools if it has any."""
    from deepprompt.text.parse import parse_json

    name = _shown(path)
    # Logs often have one message on each line.
    data = parse_json(own_text(path), name, several="; several values: write them as one list, [..., ...]")
    tools = data.get("tools") if isinstance(data, dict) else None
    messages = data.get("messages") if isinstance(data, dict) else data
    if not isinstance(messages, list) or not isinstance(tools, list | None):
        expected = 'expected a list of messages, or {"messages": [...], "tools": [...]}'
        raise MessageError(f"{name}: {expected}, found {_found(data)}")
    return messages, tools


def _found(data: object) -> str:
    """Describe a value that is not a list of messages, and how to fix it."""
    if not isinstance(data, dict):
        return "text" if isinstance(data, str) else "null" if data is None else "a number or a truth value"
    if "role" in data:
        return "one message: put it into a list"
    keys = ", ".join(map(repr, list(data)[:6]))
    wrong = [key for key in ("messages", "tools") if key in data and not isinstance(data[key], list)]
    return f"{wrong[0]} that are no list" if wrong else f"an object with {keys or 'nothing'} and no messages"


def _report(request: Request, notes: list[Note]) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "to": request.to,
        "model": request.model,
        "facts_as_of": request.rules.as_of,
        "model_known": request.rules.known,
        "tokens": request.tokens,
        "marks": [asdict(mark) for mark in request.marks],
        "notes": [asdict(note) for note in (*notes, *request.notes)],
        "body": request.body,
    }
