"""`deepprompt inspect`: which kind of page comes of which file, where it goes, and who may read it."""

from __future__ import annotations

import json
import os
import re
import stat
import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepprompt import AuditLog, PromptAssembler, Session, SystemPromptBuilder, Usage, build_request
from deepprompt.cli import main
from tests.support.examples import examples
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]

PROMPT = SystemPromptBuilder("Be brief.\n" * 600).compose()
BODY: dict[str, Any] = {"model": "gpt-6", "messages": [{"role": "user", "content": "Hi"}]}


def view_of(path: Path) -> dict[str, Any]:
    """Return the data of a page."""
    (block,) = re.findall(r'id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    view: dict[str, Any] = json.loads(block)
    return view


def inspected(folder: Path, *arguments: str | Path) -> dict[str, Any]:
    """Run `inspect` and return the data of its page."""
    page = folder / "page.html"
    assert main(["inspect", *map(str, arguments), "-o", str(page)]) == 0
    return view_of(page)


def failure(capture: CaptureBytes, *arguments: str | Path) -> str:
    """Run `inspect` where it cannot be done, and return the one line that it says."""
    assert main(["inspect", *map(str, arguments)]) == 1
    printed = capture.readouterr()
    assert printed.out == b""
    return printed.err.decode().removeprefix("deepprompt: ").removesuffix("\n")


def wrong(capture: CaptureBytes, *arguments: str | Path) -> str:
    """Run `inspect` with wrong usage, and return what it says."""
    with pytest.raises(SystemExit) as ended:
        main(["inspect", *map(str, arguments)])
    assert ended.value.code == 2
    return capture.readouterr().err.decode()


def session(path: Path) -> Path:
    """Save a session of three answered turns, the first two recorded."""
    talk = Session(PROMPT)
    for number in range(3):
        talk.user(f"Question {number}?")
        talk.request(to="anthropic", model="claude-opus-5-5")
        if number < 2:
            talk.record(Usage(1500, 1400 * number, {"5m": 100}, 5), at=60.0 * number)
        talk.append({"role": "assistant", "content": "Yes."})
    talk.save(path)
    return path


def test_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file it is the prompt of the folder, with its notes."""
    lay_out(tmp_path / "project", {"AGENTS.md": "Be\u200b kind.\n"})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    view = inspected(tmp_path, "--cwd", tmp_path / "project")
    assert (view["kind"], view["title"]) == ("prompt", "the prompt of project")
    assert [row["name"] for row in view["rows"]][:4] == ["identity", "tools", "verify", "style"]
    assert any("hidden U+200B" in str(note) for note in view["notes"])


KINDS: dict[str, tuple[object, str]] = {
    "text": ("Be brief.", "prompt"),
    "built": ({"text": "Be brief.", "parts": [{"name": "a", "bytes": 9}]}, "prompt"),
    "body": (BODY, "prompt"),
    "messages": (BODY["messages"], "prompt"),
    "bodies": ([BODY, BODY], "session"),
    "records": ([{"at": 1e9, "body": BODY}, {"at": 1e9 + 5, "body": BODY}], "session"),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_a_file(tmp_path: Path, name: str) -> None:
    """A prompt or one request is a prompt, several are a session; what is meant otherwise can be said."""
    value, kind = KINDS[name]
    path = tmp_path / "file"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    assert inspected(tmp_path, path)["kind"] == kind
    if name not in ("text", "built"):
        assert inspected(tmp_path, path, "--as", "session")["kind"] == "session"
        if name != "log":  # whose prompts went nowhere
            assert inspected(tmp_path, path, "--provider", "vllm")["kind"] == "session"


def test_json_lines(tmp_path: Path) -> None:
    """A request a line is a session; its model says by whose rules it goes, if that can be known."""
    body = {**BODY, "model": "deepseek-v4-pro"}
    (tmp_path / "log").write_text("\n".join([json.dumps({"at": n, "body": body}) for n in range(3)]))
    view = inspected(tmp_path, tmp_path / "log")
    assert (view["provider"], view["model"], len(view["turns"])) == ("deepseek", "deepseek-v4-pro", 3)
    (tmp_path / "log").write_text(
        "\n".join(map(json.dumps, [*BODY["messages"], {"role": "assistant", "content": "Yo"}]))
    )
    assert len(inspected(tmp_path, tmp_path / "log")["turns"]) == 1
    (tmp_path / "log").write_text(json.dumps([{"messages": BODY["messages"]}] * 2))
    assert inspected(tmp_path, tmp_path / "log")["provider"] == "vllm"
    view = inspected(tmp_path, tmp_path / "log", "--provider", "anthropic", "--model", "claude-opus-5-5")
    assert (view["provider"], view["model"]) == ("anthropic", "claude-opus-5-5")


def test_a_session(tmp_path: Path) -> None:
    """A saved session shows its turns by the rules that it went by, and what was recorded of its answers."""
    view = inspected(tmp_path, session(tmp_path / "session.json"))
    assert (view["kind"], view["provider"], view["model"]) == ("session", "anthropic", "claude-opus-5-5")
    assert len(view["turns"]) == 3
    assert [turn.get("recorded", {}).get("kind") for turn in view["turns"]] == ["cold start", "hit", None]
    assert view["turns"][1]["recorded"]["read"] == 1400
    assert [turn["miss"] for turn in view["turns"]] == [False] * 3
    other = inspected(tmp_path, tmp_path / "session.json", "--usage", tmp_path / "session.json")
    assert other["last"]["basis"].endswith("bytes a token, by 2 recorded answers")
    assert other["input"] != view["input"]
    assert inspected(tmp_path, tmp_path / "session.json", "--as", "prompt")["kind"] == "prompt"


def test_a_loaded_session_keeps_what_was_recorded(tmp_path: Path) -> None:
    """What was recorded is saved and loaded with a session; one that was saved before there was any loads as well."""
    path = session(tmp_path / "session.json")
    talk = Session.load(path)
    assert [(one.messages, one.kind, one.usage.input) for one in talk.recorded] == [
        (1, "cold start", 1500),
        (3, "hit", 1500),
    ]
    talk.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_two_prompts(tmp_path: Path) -> None:
    """Two files are compared, whatever kinds of prompt they are."""
    (tmp_path / "a").write_text("Be brief.\nBe kind.\n")
    (tmp_path / "b").write_text("Be brief.\nBe cold.\n")
    view = inspected(tmp_path, tmp_path / "a", tmp_path / "b")
    assert view["kind"] == "difference"
    assert (view["cause"]["offset"], view["pairs"][0]["byte"]) == (13, 13)
    request = build_request(PROMPT, BODY["messages"], to="anthropic", model="claude-opus-5-5")
    (tmp_path / "b").write_text(json.dumps(request.body))
    (tmp_path / "a").write_text(PROMPT.text)
    assert inspected(tmp_path, tmp_path / "a", tmp_path / "b")["kind"] == "difference"


def test_a_log(tmp_path: Path) -> None:
    """A log of assembled prompts shows each as a turn, in the order of their times, made of its files."""
    root = lay_out(tmp_path / "root", {"t.txt": "Do it.\n$$include a\n", "a": "text"})
    log = AuditLog(str(tmp_path / "log.jsonl"), prompts="by-hash")
    for minute in (5, 0):
        at = datetime(2026, 11, 16, 9, minute, tzinfo=UTC)
        log.append(PromptAssembler(str(root)).assemble("t", {}, "id", now=at))
        (root / "a").write_text("other")
    view = inspected(tmp_path, tmp_path / "log.jsonl")
    assert (view["kind"], [turn["label"] for turn in view["turns"]]) == ("session", ["t", "t"])
    assert [turn["at"] for turn in view["turns"]] == [0.0, 300.0]
    assert view["turns"][1]["cause"]["source"] == "file:a"
    assert [row["origin"] for row in view["last"]["rows"]] == ["file:t.txt", "file:a", "file:t.txt"]
    assert view["doubts"] == []


def test_an_altered_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page and standard error name each record that was edited, and the one after a removed record."""
    root = lay_out(tmp_path / "root", {"t.txt": "Do it.\n"})
    path = tmp_path / "log.jsonl"
    log = AuditLog(str(path))
    for _ in range(3):
        log.append(PromptAssembler(str(root)).assemble("t", {}, "id"))
    first, _, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first.replace(b'"id"', b'"no"') + last)
    edited = f"{path}:1: it was changed after it was written"
    removed = f"{path}:2: the record before it was changed, removed or inserted"
    assert inspected(tmp_path, path)["doubts"] == [edited, removed]
    assert capsys.readouterr().err == f"deepprompt: {edited}\ndeepprompt: {removed}\n"


def test_times_that_were_recorded(tmp_path: Path) -> None:
    """Where the start of every request was recorded, the simulation goes by that, and says what had expired."""
    talk = Session(PROMPT)
    for number, at in enumerate((1000.0, 1060.0, 9000.0)):
        talk.user(f"Question {number}?")
        talk.request(to="anthropic", model="claude-opus-5-5")
        talk.record(Usage(1500, 1400 if number else 0, {}, 5), at=at)
        talk.append({"role": "assistant", "content": "Yes."})
    talk.save(tmp_path / "session.json")
    view = inspected(tmp_path, tmp_path / "session.json")
    assert [turn["at"] for turn in view["turns"]] == [0.0, 60.0, 8000.0]
    assert [turn["miss"] for turn in view["turns"]] == [False, False, True]
    assert "expired" in view["turns"][2]["why"]


NAMES = st.sampled_from(
    ["session", "sha256", "messages", "body", "model", "recorded", "lines", "parts", "tools", "text", "usage", "at",
     "role", "content", "assembled_prompt", "assembled_prompt_hash", "assembly_timestamp", "spans", "name", "start"]
)  # fmt: skip
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.sampled_from(["", "x", "user", "assistant", "2026-11-16"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=14,
)


@settings(examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=ODD, options=st.sampled_from([[], ["--as", "session"], ["--as", "prompt"]]))
def test_odd_values_are_no_traceback(value: Any, options: list[str], tmp_path: Path) -> None:
    """Whatever JSON a file holds, there is a page or one line that says why not."""
    path = tmp_path / "odd"
    path.write_text(json.dumps(value))
    assert main(["inspect", str(path), "-o", str(tmp_path / "page.html"), *options]) in (0, 1)


@pytest.mark.parametrize("options", [[], ["--as", "session"], ["--as", "prompt"]])
def test_values_that_are_nested_too_deeply(tmp_path: Path, capsysbinary: CaptureBytes, options: list[str]) -> None:
    """Deep nesting is one line."""
    path = tmp_path / "deep.json"
    path.write_text('{"messages":' + "[" * 100_000 + "]" * 100_000 + "}")
    assert failure(capsysbinary, path, "-o", tmp_path / "page.html", *options) == f"{path}: nested too deeply"


@pytest.mark.skipif(os.name != "posix", reason="needs modes and links")
class TestWhereItGoes:
    """The page has the whole prompt in it, so it is its owner's alone, and it replaces nothing but a page."""

    def test_mode(self, tmp_path: Path) -> None:
        """Whatever the umask lets through, only the owner can read it."""
        before = os.umask(0)
        try:
            inspected(tmp_path)
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600

    def test_a_page_is_replaced(self, tmp_path: Path) -> None:
        """An existing page is overwritten."""
        (tmp_path / "a").write_text("One.")
        inspected(tmp_path, tmp_path / "a")
        (tmp_path / "a").write_text("Two.")
        assert inspected(tmp_path, tmp_path / "a")["rows"][0]["text"] == "Two."
        assert sorted(os.listdir(tmp_path)) == ["a", "page.html"]

    @pytest.mark.parametrize("make", ["file", "link", "folder", "dangling"])
    def test_nothing_else_is(self, tmp_path: Path, capsysbinary: CaptureBytes, make: str) -> None:
        """A file of another kind, a link or a folder stays as it is."""
        target = tmp_path / "target"
        (tmp_path / "mine").write_text("mine")
        if make == "folder":
            target.mkdir()
        elif make == "file":
            target.write_text("mine")
        else:
            os.symlink("mine" if make == "link" else "nowhere", target)
        said = failure(capsysbinary, tmp_path / "mine", "-o", target)
        assert said == f"{target}: exists, and is not a page of 'deepprompt inspect'; name another file"
        assert (tmp_path / "mine").read_text() == "mine"
        assert not (tmp_path / "nowhere").exists()

    def test_a_folder_that_is_not_there(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """A page that cannot be written is one line."""
        (tmp_path / "a").write_text("One.")
        target = tmp_path / "none" / "page.html"
        assert failure(capsysbinary, tmp_path / "a", "-o", target) == f"{target}: {os.strerror(2)}"


def test_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: CaptureBytes) -> None:
    """`--open` opens the page from where it was written, or from a new folder of the user's own."""
    opened: list[str] = []

    def start(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", start)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "a").write_text("One.")
    assert main(["inspect", str(tmp_path / "a"), "--open", "-o", str(tmp_path / "page.html")]) == 0
    assert main(["inspect", str(tmp_path / "a"), "--open"]) == 0
    assert opened[0] == (tmp_path / "page.html").as_uri()
    (folder,) = tmp_path.glob("deepprompt-*")
    assert opened[1] == (folder / "page.html").as_uri()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    assert failure(capsysbinary, tmp_path / "a", "--open", "-o", tmp_path / "page.html") == (
        f"could not start a browser; open {tmp_path / 'page.html'}"
    )


def test_wrong_usage(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """What does not go together is said."""
    (tmp_path / "a").write_text("One.")
    (tmp_path / "log").write_text(json.dumps([BODY, BODY]))
    page = ("-o", tmp_path / "page.html")
    assert "error: say where to write the page: -o FILE, or --open" in wrong(capsysbinary, tmp_path / "a")
    assert "error: A and B cannot both be standard input" in wrong(capsysbinary, "-", "-", *page)
    both = (tmp_path / "a", tmp_path / "a", "--as", "session")
    assert "error: --as session shows one conversation: give A alone" in wrong(capsysbinary, *both, *page)
    assert "error: no provider 'nobody'; there are: anthropic, " in wrong(
        capsysbinary, tmp_path / "log", "--provider", "nobody", *page
    )


def test_errors(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """What cannot be read is one line, and leaves no page."""
    page = ("-o", tmp_path / "page.html")
    assert failure(capsysbinary, tmp_path / "none", *page) == f"{tmp_path / 'none'}: {os.strerror(2)}"
    (tmp_path / "log").write_text(json.dumps({"assembled_prompt_hash": "x", "assembled_prompt": None}) + "\n")
    said = failure(capsysbinary, tmp_path / "log", *page)
    assert said == f"{tmp_path / 'log'}:1: its text is stored neither in it nor beside it"
    assert not (tmp_path / "page.html").exists()


def test_a_log_of_another_kind(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Lines that are no requests are not shown as if they were; the message says what reads them."""
    lines = [{"type": "session_meta", "payload": {}}, {"type": "event", "payload": {"tokens": 3}}]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["inspect", str(tmp_path / "log.jsonl"), "-o", str(tmp_path / "page.html")]) == 1
    said = capsysbinary.readouterr().err.decode()
    assert said.endswith("has no requests, but lines of another kind of log; 'deepprompt report' reads more kinds\n")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("command", [["explain"], ["blame"]])
def test_json_lines_elsewhere(command: list[str], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Commands that take one request say what reads a log."""
    (tmp_path / "log.jsonl").write_text("\n".join([json.dumps(BODY)] * 2))
    paths = [str(tmp_path / "log.jsonl")] * (2 if command == ["blame"] else 1)
    assert main([*command, *paths]) == 1
    said = capsysbinary.readouterr().err.decode()
    assert (
        "log.jsonl:2: not JSON: Extra data; a value a line is a log: 'deepprompt report FILE' reads all of it" in said
    )
