"""`[tool.deepprompt]`: what may stand there, what is said of anything else, and which file counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt.checks.lint.linter import Exemption
from deepprompt.checks.settings import Settings
from deepprompt.commands.settings import read_settings
from deepprompt.errors import SourceError

WHOLE = """
[tool.deepprompt]
lock = "prompts.lock"
models = ["anthropic/claude-opus-5-5", "litellm/openai/gpt-5.6"]
boundary = "=== END ==="
timeout = 5

[tool.deepprompt.prompts]
main = "app:prompt"
whole = "build --portable"

[tool.deepprompt.lint]
paths = ["AGENTS.md"]
select = ["DP1", "DP303"]
ignore = ["DP101"]
part-tokens = 500
comments = false

[[tool.deepprompt.lint.allow]]
code = "DP104"
where = "main"
text = "/home/build"
reason = "the container's own user"

[tool.deepprompt.perturb]
skip = ["locale"]
leave = ["whole"]
"""


def test_everything_that_may_be_set(tmp_path: Path) -> None:
    """Each setting is read from its own place."""
    (tmp_path / "pyproject.toml").write_text(WHOLE)
    assert read_settings(str(tmp_path)) == Settings(
        source="pyproject.toml",
        prompts={"main": "app:prompt", "whole": "build --portable"},
        lock="prompts.lock",
        models=(("anthropic", "claude-opus-5-5"), ("litellm", "openai/gpt-5.6")),
        boundary="=== END ===",
        timeout=5.0,
        paths=("AGENTS.md",),
        select=("DP1", "DP303"),
        ignore=("DP101",),
        part_tokens=500,
        comments=False,
        allow=(Exemption("DP104", "the container's own user", "main", "/home/build"),),
        skip=("locale",),
        fixed=("whole",),
    )


UNKNOWN = "is not in the facts of 2026-11-18, so the provider's conservative defaults apply"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("anthropic/claude-opus-55", f"{UNKNOWN}; did you mean anthropic/claude-opus-5-5?"),
        ("litellm/anthropic/claude-opus-55", f"{UNKNOWN}; did you mean litellm/anthropic/claude-opus-5-5?"),
        ("openai/made-up", UNKNOWN),
        ("litellm/anthropic/claude-opus-5-5", ""),
        ("vllm/any", ""),
    ],
)
def test_an_unknown_model_is_said_once(
    model: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that the facts do not know is no error, but one line a run; an engine has no models to know."""
    (tmp_path / "pyproject.toml").write_text(f'[tool.deepprompt]\nmodels = ["{model}", "{model}"]\n')
    for _ in range(2):
        assert len(read_settings(str(tmp_path)).models) == 2
    assert capsys.readouterr().err == (f"deepprompt: pyproject.toml: models: {model} {said}\n" if said else "")


def test_a_project_without_settings(tmp_path: Path) -> None:
    """No file, or a file without the table, is a project that has not said anything."""
    assert read_settings(str(tmp_path)) == Settings()
    (tmp_path / "pyproject.toml").write_text("[tool.other]\na = 1\n")
    assert read_settings(str(tmp_path)) == Settings()


def test_only_the_folder_of_the_project_counts(tmp_path: Path) -> None:
    """Neither a folder above nor one below changes an option."""
    (tmp_path / "pyproject.toml").write_text(WHOLE)
    inner = tmp_path / "inner"
    inner.mkdir()
    assert read_settings(str(inner)) == Settings()


def test_a_file_that_the_user_names(tmp_path: Path) -> None:
    """It counts in place of the project's own; without the table it is an error."""
    (tmp_path / "pyproject.toml").write_text("[tool.deepprompt]\nlock = 'a'\n")
    (tmp_path / "other.toml").write_text("[tool.deepprompt]\nlock = 'b'\n")
    assert read_settings(str(tmp_path), "other.toml").lock == "b"
    (tmp_path / "other.toml").write_text("[tool.frob]\n")
    with pytest.raises(SourceError, match=r"^other.toml: has no table \[tool.deepprompt\]$"):
        read_settings(str(tmp_path), "other.toml")
    with pytest.raises(SourceError, match=r"^absent.toml: No such file or directory$"):
        read_settings(str(tmp_path), "absent.toml")


WRONG = {
    "no TOML": ("[tool", "not TOML: "),
    "no table": ("[tool]\ndeepprompt = 3", "tool.deepprompt: expected a table, found 3"),
    "misspelt": ("[tool.deepprompt]\npromts = {}", "tool.deepprompt.promts: no such setting; there are: "),
    "misspelt inside": ("[tool.deepprompt.lint]\nselects = []", "tool.deepprompt.lint.selects: no such setting"),
    "no text": ("[tool.deepprompt]\nlock = 3", "tool.deepprompt.lock: expected text, found 3"),
    "no target": (
        "[tool.deepprompt.prompts]\nmain = 3",
        "prompts.main: expected a file, module:function or 'build ...'",
    ),
    "empty target": ("[tool.deepprompt.prompts]\nmain = ' '", "prompts.main: expected a file"),
    "no list": ("[tool.deepprompt.lint]\npaths = 'a'", 'paths: expected a list of texts, found "a"'),
    "no list of texts": ("[tool.deepprompt.lint]\npaths = [1]", "paths: expected a list of texts, found 1 in it"),
    "no rule": (
        "[tool.deepprompt.lint]\nselect = ['E1']",
        "select: no rule 'E1'; 'deepprompt lint --rules' lists them",
    ),
    "no move": ("[tool.deepprompt.perturb]\nskip = ['frob']", "skip: no move 'frob' to skip; there are: turn, clock"),
    "no model": ("[tool.deepprompt]\nmodels = ['gpt-6']", "models: 'gpt-6' is not written as PROVIDER/MODEL"),
    "no provider": (
        "[tool.deepprompt]\nmodels = ['antropic/x']",
        "models: no provider 'antropic'; there are: anthropic",
    ),
    "no time": ("[tool.deepprompt]\ntimeout = 0", "timeout: expected a number above 0, found 0"),
    "no number": ("[tool.deepprompt]\ntimeout = true", "timeout: expected a number, found true"),
    "no flag": ("[tool.deepprompt.lint]\ncomments = 1", "comments: expected true or false, found 1"),
    "no reason": (
        "[[tool.deepprompt.lint.allow]]\ncode = 'DP101'",
        "reason: every exception needs a code and a reason",
    ),
    "blank reason": (
        "[[tool.deepprompt.lint.allow]]\ncode = 'DP101'\nreason = ' '",
        "reason: every exception needs a code and a reason",
    ),
    "no code": ("[[tool.deepprompt.lint.allow]]\nreason = 'a'", "code: every exception needs a code and a reason"),
    "no prompt": ("[tool.deepprompt.perturb]\nleave = ['a']", "tool.deepprompt.perturb.leave: no prompt 'a'"),
    "nested deeply": ("a = " + "[" * 5000, "not TOML: "),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_whatever_is_not_known_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    """A setting that would be ignored is a check that is not made; the message says where it stands."""
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(SourceError) as error:
        read_settings(str(tmp_path))
    assert str(error.value).startswith("pyproject.toml: ")
    assert message in str(error.value)


SEVERAL = """
[tool.deepprompt]
lock = 3
models = ["gpt-6", "antropic/x"]
promts = {}

[tool.deepprompt.prompts]
main = ""

[tool.deepprompt.lint]
select = ["E1", 2]

[[tool.deepprompt.lint.allow]]
reason = "a"

[[tool.deepprompt.lint.allow]]
code = "E1"
reason = "a"
were = "b"
"""


def test_all_faults_are_reported_together(tmp_path: Path) -> None:
    """One run says everything that is wrong with the file, each with its place."""
    (tmp_path / "pyproject.toml").write_text(SEVERAL)
    with pytest.raises(SourceError) as error:
        read_settings(str(tmp_path))
    problems = str(error.value).removeprefix("pyproject.toml: ").split("; pyproject.toml: ")
    assert [problem.removeprefix("tool.deepprompt.").partition(":")[0] for problem in problems] == [
        "prompts.main",
        "lock",
        "models",
        "models",
        "lint.select",
        "lint.select",
        "lint.allow[0].code",
        "lint.allow[1].code",
        "lint.allow[1].were",
        "promts",
    ]
