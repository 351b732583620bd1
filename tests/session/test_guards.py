"""Our own guards have nothing to say against a session's own requests: lint, lock and check, which perturbs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt import blame, lint
from deepprompt.providers import TARGETS
from deepprompt.words import OnChange, Target
from tests.support.guarded import run
from tests.support.models import MODELS

APP = '''"""An agent that uses a session."""
from deepprompt import ProjectContext, Session, SystemPromptBuilder, tool_definitions

TO, MODEL, ON_CHANGE = "{to}", "{model}", "{on_change}"


def prompt(turn=0):
    status = "".join(f" M part_{{number}}.py\\n" for number in range(turn))
    project = ProjectContext(cwd="/srv/shop", current_date="2026-11-16", git_status=status)
    tools = ("Bash", "Read") if turn < 2 else ("Read", "Grep") if turn < 4 else ("Bash", "Read")
    return SystemPromptBuilder(project=project).compose(tools=tool_definitions(tools))


def talk():
    """A conversation with tool loops, reasoning, edits of the project and of the tools; then a summary."""
    session = Session(prompt(), on_change=ON_CHANGE)
    for turn in range(6):
        session.user(f"Why does part_{{turn}}.py fail?", prompt(turn))
        yield session
        given = {{"file_path": "/srv/shop/a.py"}}
        call = {{"type": "tool_use", "id": f"call_{{turn}}", "name": "Read", "input": given}}
        reasoning = {{"type": "thinking", "thinking": "A file may say.", "signature": "c2lnbmVk"}}
        session.append({{"role": "assistant", "content": [reasoning, {{"type": "text", "text": "I look."}}, call]}})
        result = {{"type": "tool_result", "tool_use_id": f"call_{{turn}}", "content": f"line {{turn}}"}}
        session.append({{"role": "user", "content": [result]}})
        session.update(prompt(turn + 1))
        yield session
        session.append({{"role": "assistant", "content": f"Part {{turn}} is done."}})
    session = session.compacted("Six parts are done.").session
    session.user("Go on.", prompt(6))
    yield session


def requests():
    return [session.request(to=TO, model=MODEL).body for session in talk()]


def request():
    return requests()[-2]
'''
SETTINGS = """[tool.deepprompt.prompts]
agent = "app:prompt"
request = "app:request"
[tool.deepprompt.perturb]
leave = ["agent"] # which the request has in it
"""


@pytest.fixture
def bodies(to: Target, on_change: OnChange, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """The requests of the agent's conversation, in a folder that guards them."""
    app = APP.format(to=to, model=MODELS[to][0].name, on_change=on_change)
    (tmp_path / "app.py").write_text(app)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(app, "app.py", "exec"), names)
    made: list[dict[str, object]] = names["requests"]()  # type: ignore[operator]
    return made


@pytest.mark.parametrize("on_change", ["notice", "native"])
@pytest.mark.parametrize("to", TARGETS)
class TestGuards:
    """Every target."""

    def test_lint_finds_nothing(self, bodies: list[dict[str, object]], capsys: pytest.CaptureFixture[str]) -> None:
        """In no request, and not in the conversation."""
        assert [finding for body in bodies for finding in lint(body)] == []
        Path("talk.jsonl").write_text("".join(json.dumps(body) + "\n" for body in bodies[:-1]))
        assert run(capsys, "lint", "talk.jsonl").startswith("nothing found in ")

    def test_each_request_extends_the_one_before(self, bodies: list[dict[str, object]]) -> None:
        """Blame finds nothing to blame."""
        for number in range(len(bodies) - 2):
            assert not blame(bodies[number], bodies[number + 1]), number


@pytest.mark.slow
@pytest.mark.parametrize(
    ("to", "on_change"), [("anthropic", "native"), ("openai-responses", "native"), ("gemini", "notice")]
)
class TestGuardsThatRunIt:
    """One target of each kind of cache: these start the function again for each thing that may change."""

    def test_lock_and_check(self, bodies: list[dict[str, object]], capsys: pytest.CaptureFixture[str]) -> None:
        """The lock takes the request, and the check finds nothing: it is the same whatever moves around it."""
        assert bodies
        run(capsys, "lock")
        assert "request" in Path("deepprompt.lock").read_text()
        assert "app:request: the static prefix" in run(capsys, "check")
