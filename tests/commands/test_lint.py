"""`deepprompt lint`: what it takes, how it prints what it found, and how exceptions are made."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import pytest

from deepprompt.checks.lint.linter import RULES
from deepprompt.cli import main
from tests.support.guarded import failure, project, run, wrong
from tests.support.layout import lay_out

Capture = pytest.CaptureFixture[str]

MOVING = "Be careful.\nCurrent date: 2026-11-16\n"
KEY = "sk-ant-" + "a1B2" * 8
LONG = "Say how you would do it. " * 300


def test_a_clean_file(tmp_path: Path, capsys: Capture) -> None:
    """Nothing found is one line and exit code 0."""
    (tmp_path / "AGENTS.md").write_text("Run the tests with make test.\n")
    assert run(capsys, "lint", "--cwd", tmp_path, "AGENTS.md") == "nothing found in 1 target, 1 part\n"


def test_findings_are_lines_that_editors_take(tmp_path: Path, capsys: Capture) -> None:
    """File, line, column, code and what was found; then what to do, once for each rule; then the sum."""
    (tmp_path / "AGENTS.md").write_text(f"{MOVING}Use {KEY} for the API.\n")
    said = run(capsys, "lint", "--cwd", tmp_path, "AGENTS.md", code=1)
    first, *frame, second = said.splitlines()[:4]
    assert first == "AGENTS.md:2:15: DP101 a time, '2026-11-16'"
    assert frame == ["    2 | Current date: 2026-11-16", "      |               ^"]
    assert second.startswith("AGENTS.md:3:5: DP501 ")
    assert KEY not in said
    assert said.splitlines()[6:] == [
        "",
        f"  DP101 clock (1): {RULES['DP101'].advice}",
        f"  DP501 key (1): {RULES['DP501'].advice}",
        "2 findings in 1 target, 1 part",
    ]


def test_a_long_line_is_shown_in_part(tmp_path: Path, capsys: Capture) -> None:
    """A piece of it around the finding, with what hides in it made visible, and the mark still below its place."""
    (tmp_path / "AGENTS.md").write_text(f"{'word ' * 40}a\u200b Current date: 2026-11-16 {'word ' * 40}\n")
    lines = run(capsys, "lint", "--cwd", tmp_path, "--select", "DP1", "AGENTS.md", code=1).splitlines()
    assert lines[1].startswith("    1 | … ")
    assert lines[1].endswith(" …")
    assert "a⟨U+200B⟩ Current date: 2026-11-16" in lines[1]
    assert lines[1][lines[2].index("^") :].startswith("2026-11-16")


def test_files_are_groups(tmp_path: Path, capsys: Capture) -> None:
    """A blank line stands between the findings of two files, in the order of paths, in any number of processes."""
    for number in range(300):
        (tmp_path / f"{number:03}").mkdir()
        (tmp_path / f"{number:03}/AGENTS.md").write_text(MOVING if number % 100 == 7 else "Be kind.\n")
    alone = run(capsys, "lint", "--cwd", tmp_path, "--jobs", "1", ".", code=1)
    assert alone == run(capsys, "lint", "--cwd", tmp_path, "--jobs", "2", ".", code=1)
    heads = [line for line in alone.splitlines() if ": DP101 " in line]
    assert [line.partition(":")[0] for line in heads] == ["007/AGENTS.md", "107/AGENTS.md", "207/AGENTS.md"]
    assert alone.count("\n\n") == 3
    assert alone.endswith("3 findings in 1 target, 300 parts\n")
    assert "expected a number from 1 to 256" in wrong(capsys, "lint", "--jobs", "0", ".")


def test_files_of_a_folder_are_separate_prompts(tmp_path: Path, capsys: Capture) -> None:
    """What two files say is not said twice, and what one of them says is; other files than prompts are not measured."""
    said = "Never write to the production database. If data has to change, write a migration. Have it reviewed first."
    (tmp_path / "AGENTS.md").write_text(f"{said} By two people who know it.\n")
    (tmp_path / "CLAUDE.md").write_text(f"{said} By two people who know it.\n")
    (tmp_path / "notes.md").write_text(f"{said} By two people who know it.\n\n{said} By two people who know it.\n")
    run(capsys, "lint", "--cwd", tmp_path, ".")
    run(capsys, "lint", "--cwd", tmp_path, "AGENTS.md", "CLAUDE.md")
    (tmp_path / "CLAUDE.md").write_text(f"{said} {said} {said}\n\n{said} {said} {said}\n")
    assert "CLAUDE.md:3:1: DP403 " in run(capsys, "lint", "--cwd", tmp_path, ".", code=1)


def test_statistics(tmp_path: Path, capsys: Capture) -> None:
    """How often each rule was broken, the most frequent first, and the exit code as ever."""
    (tmp_path / "AGENTS.md").write_text(f"{MOVING}Today is Monday.\nUse {KEY}.\n")
    said = run(capsys, "lint", "--cwd", tmp_path, "--statistics", "AGENTS.md", code=1)
    assert said == "2  DP101  clock\n1  DP501  key\n"
    (tmp_path / "AGENTS.md").write_text("Be kind.\n")
    assert run(capsys, "lint", "--cwd", tmp_path, "--statistics", "AGENTS.md") == "nothing found\n"


def test_annotations_of_github(tmp_path: Path, capsys: Capture) -> None:
    """A command for each finding, with the file and the line, in which nothing can begin another command."""
    (tmp_path / "a,b.md").write_text(MOVING)
    said = run(capsys, "lint", "--cwd", tmp_path, "--format", "github", "a,b.md", code=1)
    assert said == (
        "::warning file=a%2Cb.md,line=2,col=15,title=DP101 clock::a time, '2026-11-16'. Leave it out, or put it into a "
        "message or after the boundary.\n"
    )


def test_a_baseline(tmp_path: Path, capsys: Capture) -> None:
    """What a project had when it began is left out, wherever its line is now; what is new is found."""
    file = tmp_path / "AGENTS.md"
    file.write_text(MOVING)
    assert main(["lint", "--cwd", str(tmp_path), "--write-baseline", "lint.json", "."]) == 0
    assert capsys.readouterr().err == "deepprompt: lint.json: 1 finding written\n"
    file.write_text(f"One more line.\n{MOVING}")
    said = run(capsys, "lint", "--cwd", tmp_path, "--baseline", "lint.json", ".")
    assert said == "nothing found in 1 target, 1 part; 1 in the baseline\n"
    file.write_text(f"{MOVING}{MOVING}")
    said = run(capsys, "lint", "--cwd", tmp_path, "--baseline", "lint.json", ".", code=1)
    assert "AGENTS.md:4:15: DP101 " in said
    assert said.endswith("1 finding in 1 target, 1 part; 1 in the baseline\n")
    (tmp_path / "lint.json").write_text('{"findings": []}')
    assert "is no baseline of lint" in failure(capsys, "lint", "--cwd", tmp_path, "--baseline", "lint.json", ".")


def test_rules_that_are_off(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is off by default runs when it is selected, by its code or by ALL."""
    monkeypatch.setitem(RULES, "DP101", dataclasses.replace(RULES["DP101"], default=False))
    (tmp_path / "AGENTS.md").write_text(MOVING)
    run(capsys, "lint", "--cwd", tmp_path, "AGENTS.md")
    for code in ("ALL", "DP101", "DP1"):
        assert "DP101 " in run(capsys, "lint", "--cwd", tmp_path, "--select", code, "AGENTS.md", code=1)
    run(capsys, "lint", "--cwd", tmp_path, "--select", "ALL", "--ignore", "DP101", "AGENTS.md")


def test_everything_that_can_be_linted(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, a function, a request, recorded requests, standard input and the prompt that build makes."""
    folder = project(tmp_path, "")
    (folder / "parts").mkdir()
    (folder / "parts/a.md").write_text("Be kind.\n")
    (folder / "parts/b.txt").write_text(MOVING)
    (folder / "parts/.hidden").mkdir()
    (folder / "parts/.hidden/c.md").write_text(MOVING)
    assert "parts/b.txt:2:" in run(capsys, "lint", "--cwd", folder, "parts", code=1)
    assert "app:dated: text, line 2: DP101" in run(capsys, "lint", "--cwd", folder, "app:dated", code=1)
    body = {"model": "claude-opus-5-5", "max_tokens": 1, "messages": [{"role": "user", "content": LONG}]}
    (folder / "body.json").write_text(json.dumps(body))
    assert "DP615 " in run(capsys, "lint", "--cwd", folder, "body.json", code=1)
    later = body | {"model": "claude-opus-5", "messages": [*body["messages"], {"role": "assistant", "content": "Hi"},  # type: ignore[misc]
                                                           {"role": "user", "content": "Go"}]}  # fmt: skip
    for name, text in (
        ("talk.jsonl", f"{json.dumps(body)}\n\n{json.dumps(later)}\n"),
        ("talk.json", json.dumps([body, later])),
    ):
        (folder / name).write_text(text)
        assert "DP705 " in run(capsys, "lint", "--cwd", folder, "--select", "DP7", name, code=1)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MOVING.encode())))
    run(capsys, "lint", "--cwd", folder, "build --portable --no-git --home ''")


def test_a_request_is_held_to_its_provider(tmp_path: Path, capsys: Capture) -> None:
    """By the shape of the body, or by the provider that is named."""
    (tmp_path / "body.json").write_text(json.dumps({"max_tokens": 1, "messages": [{"role": "user", "content": LONG}]}))
    run(capsys, "lint", "--cwd", tmp_path, "body.json")
    options = ("--provider", "anthropic", "--model", "claude-opus-5-5")
    assert "DP615 " in run(capsys, "lint", "--cwd", tmp_path, *options, "body.json", code=1)
    said = wrong(capsys, "lint", "--cwd", tmp_path, "--provider", "frob", "body.json")
    assert "no provider 'frob'; there are: anthropic" in said


def test_the_model_that_is_asked_for(tmp_path: Path, capsys: Capture) -> None:
    """It counts whatever a request names; a model that nobody knows is held to less, and that is said."""
    body = {"model": "claude-opus-99", "max_tokens": 1, "messages": [{"role": "user", "content": LONG}]}
    (tmp_path / "body.json").write_text(json.dumps(body))
    assert main(["lint", "--cwd", str(tmp_path), "body.json"]) == 0
    unknown = "claude-opus-99 is not in the facts of 2026-11-18, so the provider's conservative defaults apply"
    assert capsys.readouterr().err.startswith(f"deepprompt: {unknown}")
    options = ("--provider", "anthropic", "--model", "claude-opus-5-5")
    assert "DP615 " in run(capsys, "lint", "--cwd", tmp_path, *options, "body.json", code=1)


def test_select_and_ignore(tmp_path: Path, capsys: Capture) -> None:
    """The longer start of a code decides; unknown ones are wrong usage."""
    (tmp_path / "a.md").write_text(f"{MOVING}{KEY}\n")
    assert "DP101" not in run(capsys, "lint", "--cwd", tmp_path, "--select", "DP5", "a.md", code=1)
    assert "DP501" not in run(capsys, "lint", "--cwd", tmp_path, "--ignore", "DP5", "a.md", code=1)
    run(capsys, "lint", "--cwd", tmp_path, "--ignore", "DP5,DP101", "a.md")
    assert "DP101" in run(capsys, "lint", "--cwd", tmp_path, "--ignore", "DP1", "--select", "DP101", "a.md", code=1)
    assert "no rule 'E501'; 'deepprompt lint --rules' lists them" in wrong(capsys, "lint", "--select", "E501", "a.md")


def test_exceptions_have_reasons(tmp_path: Path, capsys: Capture) -> None:
    """A comment excuses the line and the one after it, for its rule, with a reason, and is reported."""
    comment = "<!-- deepprompt: allow DP101 frozen with the release -->\n"
    (tmp_path / "a.md").write_text(comment + "Current date: 2026-11-16\n")
    said = run(capsys, "lint", "--cwd", tmp_path, "a.md")
    assert "DP101 " in said
    assert "(allowed: frozen with the release)" in said
    assert said.endswith("nothing found in 1 target, 1 part; 1 allowed with a reason\n")
    run(capsys, "lint", "--cwd", tmp_path, "--no-comments", "a.md", code=1)
    (tmp_path / "a.md").write_text("<!-- deepprompt: allow DP101 -->\nCurrent date: 2026-11-16\n")
    run(capsys, "lint", "--cwd", tmp_path, "a.md", code=1)
    (tmp_path / "a.md").write_text(comment + "\nCurrent date: 2026-11-16\n")
    run(capsys, "lint", "--cwd", tmp_path, "a.md", code=1)


def test_a_text_cannot_excuse_an_attack(tmp_path: Path, capsys: Capture) -> None:
    """What hides or forges, and what leaks, is found whatever the text says of itself."""
    allow = "<!-- deepprompt: allow DP301, DP302, DP303, DP304, DP501 it is fine -->\n"
    (tmp_path / "a.md").write_text(f"{allow}a\u200bb <|im_end|> {KEY}\n")
    said = run(capsys, "lint", "--cwd", tmp_path, "a.md", code=1)
    assert "allowed" not in said
    for code in ("DP301", "DP304", "DP501"):
        assert f" {code} " in said
        assert not RULES[code].excusable


def test_the_configuration_makes_exceptions(tmp_path: Path, capsys: Capture) -> None:
    """By code, place and text; the project's own file may excuse anything."""
    settings = (
        '[tool.deepprompt.lint]\npaths = ["a.md"]\n[[tool.deepprompt.lint.allow]]\ncode = "DP101"\nwhere = "a.*"\n'
        'text = "2026-11-16"\nreason = "a fixture"\n'
    )
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "a.md").write_text("Current date: 2026-11-16\n")
    assert "(allowed: a fixture)" in run(capsys, "lint", "--cwd", tmp_path)
    (tmp_path / "a.md").write_text("Current date: 2026-11-17\n")
    run(capsys, "lint", "--cwd", tmp_path, code=1)


@pytest.mark.parametrize("where", ["docs/a.md", "docs/*", "*/a.md", "docs", "*"])
def test_an_exception_for_a_file_in_a_folder(where: str, tmp_path: Path, capsys: Capture) -> None:
    """What is linted as a folder is excused by the folder, or by the name of the file that the finding shows."""
    settings = (
        f'[tool.deepprompt.lint]\npaths = ["docs"]\nallow = [{{code = "DP101", where = "{where}", reason = "x"}}]\n'
    )
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Current date: 2026-11-16\n")
    assert "(allowed: x)" in run(capsys, "lint", "--cwd", tmp_path)
    (tmp_path / "docs/b.md").write_text("Current date: 2026-11-16\n")
    run(capsys, "lint", "--cwd", tmp_path, code=1 if where.endswith("a.md") else 0)


def test_json(tmp_path: Path, capsys: Capture) -> None:
    """Everything that is known of a finding."""
    (tmp_path / "a.md").write_text(MOVING)
    report = json.loads(run(capsys, "lint", "--cwd", tmp_path, "--json", "a.md", code=1))
    (finding,) = report["findings"]
    assert (finding["code"], finding["rule"], finding["place"], finding["line"]) == ("DP101", "clock", "a.md", 2)
    assert (report["open"], report["allowed"], report["targets"]) == (1, 0, 1)


def test_sarif(tmp_path: Path, capsys: Capture) -> None:
    """A log that code hosts take: rules, levels, places, exceptions as suppressions, fingerprints that stay."""
    project(tmp_path, "")
    text = f"{MOVING}<!-- deepprompt: allow DP104 a fixture -->\nSee /home/anna/notes.\nUse {KEY}.\n"
    (tmp_path / "a.md").write_text(text)
    arguments = ("lint", "--cwd", tmp_path, "--format", "sarif", "a.md", "app:dated")
    log = json.loads(run(capsys, *arguments, code=1))
    assert log["version"] == "2.1.0"
    (ran,) = log["runs"]
    assert [rule["id"] for rule in ran["tool"]["driver"]["rules"]] == list(RULES)
    results = {
        (result["ruleId"], "logicalLocations" not in result["locations"][0]): result for result in ran["results"]
    }
    clock = results["DP101", True]
    assert clock["level"] == "warning"
    place = clock["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a.md"
    assert place["region"]["startLine"] == 2
    assert results["DP501", True]["level"] == "error"
    assert results["DP104", True]["suppressions"] == [{"kind": "inSource", "justification": "a fixture"}]
    line = (tmp_path / "app.py").read_text().split("def dated")[0].count("\n") + 1
    assert results["DP101", False]["locations"] == [
        {
            "physicalLocation": {"artifactLocation": {"uri": "app.py"}, "region": {"startLine": line}},
            "logicalLocations": [{"fullyQualifiedName": "app:dated::text", "kind": "resource"}],
        }
    ]
    (tmp_path / "a.md").write_text("\n\n" + text)
    again = json.loads(run(capsys, *arguments, code=1))
    prints = [[result["partialFingerprints"] for result in one["runs"][0]["results"]] for one in (log, again)]
    assert prints[0] == prints[1]


def test_rules_are_listed(capsys: Capture) -> None:
    """Every rule with what is wrong and what to do."""
    lines = run(capsys, "lint", "--rules").splitlines()
    assert [line[:5] for line in lines] == list(RULES)


def test_what_cannot_be_linted(tmp_path: Path, capsys: Capture) -> None:
    """Nothing named, nothing there, no text in a folder, JSON that is none."""
    assert "nothing to lint: name a file, a folder" in wrong(capsys, "lint", "--cwd", tmp_path)
    assert "--model needs --provider NAME" in wrong(capsys, "lint", "--model", "x", "a.md")
    assert failure(capsys, "lint", "--cwd", tmp_path, "a.md").startswith("a.md: no such file; a prompt is a file")
    (tmp_path / "empty").mkdir()
    assert failure(capsys, "lint", "--cwd", tmp_path, "empty").startswith("empty: no text files in it (.md, ")
    (tmp_path / "a.json").write_text("{")
    assert "a.json:1: not JSON: " in failure(capsys, "lint", "--cwd", tmp_path, "a.json")
    (tmp_path / "a.jsonl").write_text("{}\n{\n")
    assert failure(capsys, "lint", "--cwd", tmp_path, "a.jsonl").startswith("a.jsonl:2: not JSON: ")


def test_windows_line_ends_are_no_finding(tmp_path: Path, capsys: Capture) -> None:
    """A file with a byte order mark and CRLF is read as the builder reads it."""
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbfUse tabs.\r\nBe kind.\r\n")
    run(capsys, "lint", "--cwd", tmp_path, "a.md")


class TestPresetFolders:
    """`--parts` names a folder of presets. A check of the wrong folder would look like a good preset."""

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            (".", ".: no preset here; presets are NAME/VERSION/preset.toml in this folder; did you mean prompts?"),
            ("prompts/own", "prompts/own: no preset here; presets are NAME/VERSION/preset.toml in this folder; did you "
             "mean prompts?"),
            ("prompts/own/1.0", "prompts/own/1.0: no preset here; presets are NAME/VERSION/preset.toml in this folder; "
             "did you mean prompts?"),
            ("empty", "empty: no preset here; presets are NAME/VERSION/preset.toml in this folder"),
            ("promts", "no folder of parts at 'promts'"),
        ],
    )  # fmt: skip
    def test_wrong(
        self,
        target: str,
        message: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A folder without presets is an error that says where they are, one level up or down."""
        lay_out(tmp_path, {"prompts/own/1.0/preset.toml": "wen = 1\n", "empty/1.0/x.md": "x"})
        monkeypatch.chdir(tmp_path)
        assert main(["lint", "--parts", target]) == 1
        assert capsys.readouterr().err.replace(f"{tmp_path}/", "") == f"deepprompt: {message}\n"

    def test_right(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Presets and overrides of bundled parts are linted."""
        lay_out(tmp_path, {"a/own/1.0/preset.toml": "wen = 1\n", "b/claude_code/2.1.37/glob.md": "Mine.\n"})
        assert main(["lint", "--parts", str(tmp_path / "a")]) == 1
        assert "DP801 no key 'wen' here" in capsys.readouterr().out
        assert main(["lint", "--parts", str(tmp_path / "b")]) == 0
