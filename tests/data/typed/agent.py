"""An agent runtime: a builder, a session over several turns, requests, and what the providers' caches made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, assert_type

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    DeepPromptError,
    GitSnapshot,
    InstructionFile,
    Marks,
    Note,
    OnChange,
    Pace,
    Part,
    ProjectContext,
    Prompt,
    Request,
    Session,
    SystemPromptBuilder,
    Target,
    Usage,
    build_request,
    fingerprint,
    load_instruction_files,
    load_skills,
    read_git,
    read_usage,
)
from deepprompt.errors import MessageError
from deepprompt.session.notices import Change
from deepprompt.session.record import Verdict

TOOLS: list[Mapping[str, object]] = [{"name": "read", "description": "Reads a file.", "input_schema": {}}]


def make_builder(folder: Path) -> SystemPromptBuilder:
    """Gather what a folder has to say, once."""
    files: list[InstructionFile] = load_instruction_files(folder)
    skills = load_skills(folder)
    return SystemPromptBuilder(
        static_base="You are a careful agent.",
        instructions=files,
        skill_directory=skills.index_text(),
        project=ProjectContext(cwd="/project", current_date="2026-11-16"),
        append=[Part("rules", "Say what you changed.", Pace.PROJECT, "argument:rules")],
    )


def next_turn(builder: SystemPromptBuilder, git: GitSnapshot) -> Prompt:
    """Give a builder what is new, and return the prompt of this turn."""
    if builder.project is not None:
        builder.project = builder.project.with_git(git)
    prompt = builder.compose(tools=TOOLS)
    assert_type(prompt.text, str)
    assert_type(prompt.parts, tuple[Part, ...])
    assert_type(prompt.parts[0].pace, Pace)
    assert_type(prompt.notes, tuple[Note, ...])
    assert prompt.static_prefix + DYNAMIC_CONTEXT_BOUNDARY + prompt.dynamic_suffix == prompt.text == builder.build()
    return prompt


class Agent:
    """One conversation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.builder = make_builder(folder)
        self.session = Session(self.builder.compose(tools=TOOLS), on_change="wait")
        self.verdicts: list[Verdict] = []

    def ask(self, question: str) -> Request:
        """Return the request for one more question."""
        changes = self.session.user(question, next_turn(self.builder, read_git(self.folder)))
        assert_type(changes, tuple[Change, ...])
        request = self.session.request(to="anthropic", model="claude-opus-5-5", max_tokens=1_024)
        assert_type(request.arguments, dict[str, Any])
        assert_type(request.explain(), str)
        return request

    def answered(self, text: str, usage: Usage, at: float | None = None) -> str:
        """Take an answer, and say what became of the cache."""
        verdict = self.session.record(usage, at=at)
        self.verdicts.append(verdict)
        self.session.append({"role": "assistant", "content": text})
        place: str = verdict.blame.place if verdict.blame is not None else "nowhere"
        return f"{verdict.kind}: {verdict.detail} ({place})"


def send_once(prompt: Prompt | str) -> Request:
    """Write one request without a session."""
    try:
        return build_request(
            prompt,
            [{"role": "user", "content": "Hello"}],
            to="openai",
            model="gpt-5.6",
            tools=TOOLS,
            stream=True,
            cache_key=fingerprint(prompt if isinstance(prompt, str) else prompt.text, TOOLS).combined,
        )
    except MessageError as error:
        assert isinstance(error, DeepPromptError)
        raise


def send_to_each(prompt: Prompt, targets: Sequence[Target], marks: Marks = "auto") -> list[Request]:
    """Write the same prompt for several providers; the words are checked, wherever they come from."""
    return [build_request(prompt, [{"role": "user", "content": "Hi"}], to=to, model="m", marks=marks) for to in targets]


def resume(prompt: Prompt, on_change: OnChange) -> Session:
    """Start a session that does what the caller says when its prefix changes."""
    return Session(prompt, on_change=on_change)


if __name__ == "__main__":
    agent = Agent(Path())
    body = agent.ask("Hello").body
    usage = read_usage({"usage": {"input_tokens": 9, "output_tokens": 3}})
    assert_type(usage.cached_read, int)
    print(agent.answered("Hello.", usage, at=0.0))
    print(body["model"], send_once("You are careful.").to)
