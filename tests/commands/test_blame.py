"""`deepprompt blame`: where two prompts or requests part, why, and what that costs."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deepprompt import Prompt, Session, SystemPromptBuilder
from deepprompt.checks.blame.blame import KINDS
from deepprompt.cli import main
from tests.support.layout import lay_out
from tests.support.planted import PLANTS, RULES, TALK, body, built, edited, said
from tests.support.traffic import made

CaptureBytes = pytest.CaptureFixture[bytes]
TAKEN = "a prompt is a file, a function as module:function, or 'build' with its options"

FREE = "0.1 x for a read; --provider NAME counts by its own"


def run(capture: CaptureBytes, *arguments: str | Path, code: int = 1) -> str:
    """Run `blame` and return what it prints; nothing goes to standard error."""
    assert main(["blame", *map(str, arguments)]) == code
    printed = capture.readouterr()
    assert printed.err == b""
    return printed.out.decode()


def failure(capture: CaptureBytes, *arguments: str | Path) -> str:
    """Run `blame` where it cannot be done, and return the one line that it says."""
    assert main(["blame", *map(str, arguments)]) == 1
    printed = capture.readouterr()
    assert printed.out == b""
    assert printed.err.count(b"\n") == 1
    return printed.err.decode().removeprefix("deepprompt: ").removesuffix("\n")


def wrong(capture: CaptureBytes, *arguments: str | Path) -> str:
    """Run `blame` with wrong usage, and return what it says."""
    with pytest.raises(SystemExit) as ended:
        main(["blame", *map(str, arguments)])
    assert ended.value.code == 2
    return capture.readouterr().err.decode()


def stored(folder: Path, **values: Any) -> list[Path]:
    """Write values to files, texts as they are and others as JSON, and return their paths."""
    paths = []
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value)
        paths.append(folder / name)
        paths[-1].write_bytes(text.encode("utf-8", "surrogatepass"))
    return paths


def test_a_report(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """The report says what happened, where, what the line was and is, what is lost and what that costs."""
    old, new = [built(tmp_path, rules).text for rules in (RULES, edited(37))]
    offset = old.encode().index(b"Rule 37")
    kept, total, size = offset // 4, len(new.encode()) // 4, len(old.encode()) // 4
    after = total - kept
    assert run(capsysbinary, *stored(tmp_path, a=old, b=new)) == (
        "edit: the text was edited\n"
        f"  where  {tmp_path}/AGENTS.md:37 in text, byte {offset:,} of the request's text\n"
        '  was    "Rule 37: keep the build green."\n'
        '  is     "Never touch the build."\n'
        f"  kept   {kept:,} tokens before it, at most (estimated)\n"
        f"  after  {after:,} tokens, {min(after, size - kept):,} of them sent before (estimated)\n"
        f"  lost   {min(size, total) - kept:,} of {min(size, total):,} tokens that the cache had (simulated)\n"
        f"  costs  {(min(size, total) - kept) * 0.9:,.0f} tokens at the plain input price ({FREE})\n"
    )


def test_nothing_lost(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Where B begins with all of A there is nothing to blame, and the exit says so."""
    paths = stored(tmp_path, a="One.", b="One. Two. Three.")
    report = "B begins with all of A: 1 tokens can be read, 3 are new (estimated)\n"
    assert run(capsysbinary, *paths, code=0) == report
    found = json.loads(run(capsysbinary, *paths, "--json", code=0))
    assert found == {"miss": False, "kept": 1, "after": 0, "lost": 0, "new": 3}


def test_json(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """As JSON it is the same, for programs."""
    old = said(TALK)
    found = json.loads(run(capsysbinary, *stored(tmp_path, a=old, b=old | {"model": "other"}), "--json"))
    total = found["kept"] + found["after"]
    assert found == {
        "miss": True,
        "why": KINDS["setting"],
        "kind": "setting",
        "place": "model",
        "source": "model",
        "line": 0,
        "offset": 0,
        "old": "claude-opus-5-5",
        "new": "other",
        "kept": 0,
        "after": total,
        "repeated": total,
        "block": "setting",
        "changing": False,
        "value": "",
        "read": 0,
        "could_read": found["could_read"],
        "lost": found["could_read"],
        "cost": round(found["could_read"] * 0.9, 3),
        "prices": FREE,
    }


@pytest.mark.parametrize("name", [name for name in PLANTS if not name.startswith("set_order")])
def test_the_corpus(name: str, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """What is planted in files is found by the command as well."""
    planted = PLANTS[name](tmp_path)
    paths = stored(tmp_path, a=filed(planted.old), b=filed(planted.new))
    found = json.loads(run(capsysbinary, *paths, "--json"))
    assert (found["kind"], found["place"], found["source"], found["line"], found["changing"]) == (
        planted.kind,
        planted.place,
        planted.source,
        planted.line,
        planted.changing,
    )
    report = run(capsysbinary, *paths)
    assert report.startswith(f"{planted.kind}: {KINDS[planted.kind]}\n  where  ")
    assert ("the turn's context" in report) == planted.changing


def filed(value: Any) -> Any:
    """Return a value as a file holds it: a prompt as `build --json` prints it."""
    if not isinstance(value, Prompt):
        return value
    if value.messages:
        rows = [[part.name, part.text, int(part.pace), part.origin] for part in value.parts]
        return {"sha256": "", "session": {"parts": rows, "tools": list(value.tools), "messages": list(value.messages)}}
    parts = [
        {"name": part.name, "pace": part.pace.name.lower(), "origin": part.origin, "bytes": len(part.text.encode())}
        for part in value.parts
    ]
    return {"text": value.text, "parts": parts, "tools": list(value.tools)}


def test_from_build_to_blame(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """What `build` prints, in any form, is compared as it is; the file and its line are known."""
    lay_out(tmp_path, {"AGENTS.md": "One.\nTwo.\nThree.\n"})
    forms = {
        "text": (),
        "json": ("--json",),
        "request": ("--to", "openai", "--model", "gpt-5.6-sol", "--message", "Hi."),
    }
    folder = ("--cwd", str(tmp_path), "--preset", "deepseek@1.0.0")
    for side in ("old", "new"):
        for name, options in forms.items():
            out = str(tmp_path / f"{side}.{name}")
            assert main(["build", *folder, "--no-git", "--quiet", "--out", out, *options]) == 0
        lay_out(tmp_path, {"AGENTS.md": "One.\nZwei.\nThree.\n"})
    for old in forms:
        for new in forms:
            report = run(capsysbinary, tmp_path / f"old.{old}", tmp_path / f"new.{new}")
            assert f"{tmp_path}/AGENTS.md:2" in report.split("\n")[1]


def test_sessions(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Saved sessions are compared by their prefix and their messages."""
    session = Session(SystemPromptBuilder("Be brief.").compose())
    session.user("Hi.")
    session.save(tmp_path / "a")
    session.append({"role": "assistant", "content": "Hello."})
    session.save(tmp_path / "b")
    run(capsysbinary, tmp_path / "a", tmp_path / "b", code=0)
    assert "messages[1].content" in run(capsysbinary, tmp_path / "b", tmp_path / "a")


class TestPrices:
    """The cost by what is known of a provider."""

    OLD, NEW = "x" + "a" * 39_999, "y" + "a" * 39_999

    @pytest.mark.parametrize(
        ("options", "cost", "basis"),
        [
            ((), 9_000, FREE),
            (("anthropic", "claude-opus-5-5"), 12_000, "0.05 x for a read, else 1.25 x: anthropic claude-opus-5-5"),
            (("openai", "gpt-5.6-sol"), 11_500, "0.1 x for a read, else 1.25 x: openai gpt-5.6-sol"),
            (("openai", "gpt-5.5"), 7_373, "0.1 x for a read, else 1 x: openai gpt-5.5"),
            (("deepseek", "deepseek-v4-pro"), 9_670, "0.033 x for a read, else 1 x: deepseek deepseek-v4-pro"),
            (("litellm", "anthropic/claude-opus-5-5"), 12_000, "anthropic anthropic/claude-opus-5-5"),
            (("litellm", "mistral/large"), 0, "1 x for a read, else 1 x: litellm mistral/large"),
        ],
    )
    def test_cost(
        self, options: tuple[str, ...], cost: int, basis: str, tmp_path: Path, capsysbinary: CaptureBytes
    ) -> None:
        """What was lost is paid at the price of a write, or in full, and not at that of a read; the date is said."""
        paths = stored(tmp_path, a=self.OLD, b=self.NEW)
        flags = ("--provider", options[0], "--model", options[1]) if options else ()
        found = json.loads(run(capsysbinary, *paths, *flags, "--json"))
        assert found["cost"] == pytest.approx(cost, rel=0.01)
        assert basis in found["prices"]
        assert ("facts of 2026-11-18" in found["prices"]) == bool(options)
        report = run(capsysbinary, *paths, *flags)
        assert f"  costs  {found['cost']:,.0f} tokens at the plain input price ({found['prices']})" in report

    def test_the_model_of_the_request(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """The model is the one that B names, unless another is given."""
        paths = stored(tmp_path, a=said(TALK), b=said(TALK[:1]))
        report = run(capsysbinary, *paths, "--provider", "anthropic")
        assert "anthropic claude-opus-5-5, facts of" in report
        assert "anthropic other, facts of" in run(capsysbinary, *paths, "--provider", "anthropic", "--model", "other")

    def test_the_model_of_a_bedrock_request(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """Bedrock calls it modelId, and a record has it in the body or beside it."""
        nova = "amazon.nova-pro-v1:0"
        old, new = ({"messages": [{"role": "user", "content": [{"text": text}]}]} for text in "ab")
        for name, one, two in (
            ("inside", {"modelId": nova, **old}, {"modelId": nova, **new}),
            ("beside", {"modelId": nova, "body": old}, {"modelId": nova, "body": new}),
        ):
            (tmp_path / name).mkdir()
            paths = stored(tmp_path / name, a=one, b=two)
            assert f"bedrock {nova}, facts of" in run(capsysbinary, *paths, "--provider", "bedrock")

    def test_an_unknown_model(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """Where the facts do not know the model, that is said."""
        paths = stored(tmp_path, a=self.OLD, b=self.NEW)
        report = run(capsysbinary, *paths, "--provider", "anthropic", "--model", "claude-next")
        assert "claude-next, facts of 2026-11-18, which do not know this model)" in report

    def test_below_the_minimum(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """What is too short to be cached costs nothing to change."""
        paths = stored(tmp_path, a="One.", b="Two.")
        flags = ("--provider", "anthropic", "--model", "claude-opus-5-5")
        report = run(capsysbinary, *paths, *flags)
        assert "  costs  0 tokens" in report
        assert "  note   A has 1 tokens, and fewer than 512 are not cached\n" in report


class TestLines:
    """Both lines are shown so that the difference can be seen."""

    @pytest.mark.parametrize(
        ("old", "new", "was", "now"),
        [
            ("a\nb\n", "a\r\nb\r\n", '"a\\n"', '"a\\r"'),
            ("a\nb", "a \nb", '"a\\n"', '"a "'),
            ("café b", "cafe\u0301 b", '"caf\\u00e9 b"', '"cafe\\u0301 b"'),
            ("b", "\ufeffb", '"b"', '"\\ufeffb"'),
            ("a b", "a\u00a0b", '"a b"', '"a\\u00a0b"'),
            ("a", "b\x1b[31m\u202e\x9b", '"a"', '"b\\u001b[31m⟨U+202E⟩⟨U+009B⟩"'),
            ("a", "\ud800", '"a"', '"�"'),
            ("", "x", "(nothing)", '"x"'),
            ("One.\nThree.", "One.\nTwo.\nThree.", '"Three."', '"Two."'),
            ("token a", "token sk-ant-api03-aaaabbbbccccdddd", '"token a"', '"token [redacted: API key]"'),
        ],
    )
    def test_shown(self, old: str, new: str, was: str, now: str, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """What a terminal hides is written out, what it would obey is disarmed, and keys are not shown."""
        request = [{"role": "user", "content": text} for text in (old, new)]
        paths = stored(tmp_path, a=request[:1], b=request[1:])
        report = run(capsysbinary, *paths).split("\n")
        assert report[2:4] == [f"  was    {was}", f"  is     {now}"]
        shown = json.loads(run(capsysbinary, *paths, "--json"))
        assert "sk-ant" not in shown["new"]

    def test_what_is_new_was_nothing(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """Of what was inserted or removed, one side is nothing."""
        old, new = body("Be brief.", TALK[:1]), body("Be brief.", TALK[:1], tools=[{"name": "Read"}])
        report = run(capsysbinary, *stored(tmp_path, a=old, b=new)).split("\n")
        assert report[1] == "  where  tools[0] Read, tool Read, byte 0 of the request's text"
        assert report[2] == "  was    (nothing)"
        report = run(capsysbinary, *stored(tmp_path, a=new, b=old)).split("\n")
        assert report[3] == "  is     (nothing)"

    def test_a_file_without_a_line(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """A file that is new as a whole has no line; a file in a part of another name is told with the part."""
        planted = PLANTS["file_added"](tmp_path)
        report = run(capsysbinary, *stored(tmp_path, a=filed(planted.old), b=filed(planted.new)))
        assert f"  where  {tmp_path}/DEEPSEEK.md, byte " in report
        planted = PLANTS["appended_file"](tmp_path)
        report = run(capsysbinary, *stored(tmp_path, a=filed(planted.old), b=filed(planted.new)))
        assert "  where  own.md:3 in append, byte " in report


class TestFiles:
    """What a file may hold."""

    def test_standard_input(self, tmp_path: Path, capsysbinary: CaptureBytes, monkeypatch: pytest.MonkeyPatch) -> None:
        """One of the two may be standard input."""
        (path,) = stored(tmp_path, a="One.\n")
        ran = subprocess.run(
            [sys.executable, "-m", "deepprompt", "blame", str(path), "-"], input=b"Two.\n", capture_output=True
        )
        assert (ran.returncode, ran.stderr) == (1, b"")
        assert ran.stdout.startswith(b"edit: ")
        ran = subprocess.run(
            [sys.executable, "-m", "deepprompt", "blame", "-", str(path)], input=b"", capture_output=True
        )
        assert (ran.returncode, ran.stderr) == (1, b"deepprompt: standard input: is empty\n")
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        assert "A and B cannot both be standard input" in wrong(capsysbinary, "-", "-")

    @pytest.mark.parametrize(
        "text",
        ["{{ name }}, you are.", "{not json", "[INST] Be brief.", "[x", '"a"', "7", "{'a': 1}", "  {a}"],
    )
    def test_texts_that_begin_like_json(self, text: str, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """A text that only begins like JSON is a text."""
        report = run(capsysbinary, *stored(tmp_path, a=text + " One.", b=text + " Two."))
        assert "  where  text, line 1, byte " in report

    def test_json_with_a_byte_order_mark(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """A byte order mark before JSON is no part of it."""
        text = json.dumps(said(TALK))
        run(capsysbinary, *stored(tmp_path, a=f"\ufeff\n{text}", b=text), code=0)

    @pytest.mark.parametrize(
        ("name", "data", "message"),
        [
            ("a", b'\n{"messages": [}', ":2: not JSON: Expecting value"),
            ("a", b'[{"role": "user"', ":1: not JSON: Expecting ',' delimiter"),
            ("a.json", b"{nothing}", ":1: not JSON: Expecting property name enclosed in double quotes"),
            (
                "a",
                b'{"model": "x"}',
                ": not a request of any provider: no messages, contents or input; its fields are model",
            ),
            ("a", b"{}", ": not a request of any provider: no messages, contents or input; its fields are none"),
            ("a", b"[[]]", ": messages[0]: expected an object, not list"),
            ("a", b'{"messages": [' + b"1" * 5_000 + b"]}", ": a number has too many digits"),
            ("a", b"[" * 100_000, ": nested too deeply"),
            ("a", b"", ": is empty"),
            ("a", b"abc\xff", ": not UTF-8 at byte 3; save it as UTF-8"),
        ],
    )
    def test_errors(self, name: str, data: bytes, message: str, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """What cannot be read is said with the file, in one line."""
        path = tmp_path / name
        path.write_bytes(data)
        (other,) = stored(tmp_path, b="One.")
        assert failure(capsysbinary, other, path).startswith(f"{path}{message}")

    def test_missing_and_too_large(
        self, tmp_path: Path, capsysbinary: CaptureBytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file has to be there, and not without bounds."""
        (path,) = stored(tmp_path, a="One.")
        assert failure(capsysbinary, path, tmp_path / "b") == f"{tmp_path}/b: no such file; {TAKEN}"
        monkeypatch.setattr("deepprompt.commands.options._OWN_FILE_LIMIT", 3)
        assert failure(capsysbinary, path, path) == f"{path}: larger than 3 bytes"


class TestUsage:
    """Wrong usage exits 2 and says what is wrong."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((), "the following arguments are required: A"),
            (("", "b"), "argument A: is empty"),
            (("a", "b", "--model", "x"), "--model needs --provider NAME, the provider of the model"),
            (("a", "b", "--provider", "antropic"), "no provider 'antropic'; there are: anthropic, bedrock, deepseek"),
            (
                ("a", "b", "--provider", "anthropic"),
                "--provider anthropic needs --model NAME: B does not say its model",
            ),
        ],
    )
    def test_message(
        self, arguments: tuple[str, ...], message: str, tmp_path: Path, capsysbinary: CaptureBytes, monkeypatch: Any
    ) -> None:
        """The message says what to do."""
        monkeypatch.chdir(tmp_path)
        stored(tmp_path, a="One.", b="Two.")
        assert message in wrong(capsysbinary, *arguments)


def test_a_log(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """A log alone shows each of its breaks, all that changed there, and the price; without a break it says so."""
    records = [record for record, _, _ in made(1) if record["agent"] == "messages"]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    report = run(capsysbinary, log)
    assert report.startswith(f"{log}:5, after {log}:4\n  edit: the text was edited\n    where  system[0], line")
    assert "\n    changed  system[0]\n" in report
    assert "anthropic claude-opus-5-5, facts of" in report
    (found,) = json.loads(run(capsysbinary, log, "--json"))
    assert (found["request"], found["kind"], found["place"]) == (f"{log}:5", "edit", "system[0]")
    assert found["changes"] == [{"what": "changed", "place": "system[0]"}]
    log.write_text("".join(json.dumps(record) + "\n" for record in records[:4]))
    assert run(capsysbinary, log, code=0).startswith("nothing broke")
    log.write_text('{"x": 1}\n')
    assert "no request in it that could be compared" in failure(capsysbinary, log)


def test_fields_that_nobody_knows(tmp_path: Path, capfdbinary: CaptureBytes) -> None:
    """They are named, and whether they differ: nobody can tell if a cache depends on them."""
    talk = [{"role": "user", "content": "Hi."}]
    one, two = tmp_path / "a.json", tmp_path / "b.json"
    one.write_text(json.dumps({"model": "m", "messages": talk, "x_trace": 1, "x_same": {"a": 1}}))
    two.write_text(json.dumps({"model": "m", "messages": talk, "x_trace": 2, "x_same": {"a": 1}}))
    assert "note: fields that deepprompt does not know differ: x_trace\n" in run(capfdbinary, one, two, code=0)
    assert "does not know: x_trace, x_same; equal in both\n" in run(capfdbinary, one, one, code=0)
    found = json.loads(run(capfdbinary, one, two, "--json", code=0))
    assert found["unknown"] == {"x_trace": "differs", "x_same": "equal"}
