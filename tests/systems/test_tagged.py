"""Tagged sections: each section alone and all together, and that nothing but the builder opens or closes one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from deepprompt import (
    AgentConfig,
    Note,
    Pace,
    Prompt,
    Responsibility,
    Task,
    TaskStep,
    build_system_prompt,
    compose_tagged_prompt,
)
from deepprompt.errors import SourceError
from deepprompt.systems.tagged import TAGS
from deepprompt.text.hidden import drop_hidden

NOW = datetime(2031, 3, 4, 15, 6, tzinfo=UTC)
BARE = AgentConfig(storage=False)
TASK = Task(
    7, "Move the files", "All of them.", "in progress", (TaskStep("Look", True), TaskStep("Move"), TaskStep("Check"))
)
WORKING = "Your working directory is: /w\nThere may already be existing files — check before creating new ones."
ADDITIONAL = "You also have access to these additional directories:"
BACKGROUND = (
    "You are running in the background (scheduled task). Your responses will NOT be sent to the user automatically.\n"
    "If you need to notify the user about something important, use the notify_user tool."
)
CONTEXT = "<Context>\nCurrent time: Tuesday, March 4, 2031 at 3:06 PM (UTC)\n</Context>"


def compose(
    agent: AgentConfig = BARE, channel: str = "cli", cwd: str = "", directories: tuple[str, ...] = (), **rest: Any
) -> Prompt:
    """A prompt of nothing but what is given, at the usual time."""
    return compose_tagged_prompt(agent, channel, cwd, directories, **({"now": NOW} | rest))


def sections(text: str) -> dict[str, str]:
    """The sections of a prompt, parsed back."""
    found = {}
    for match in re.finditer(r"(?:\A|\n\n)<(\w+)>\n(.*?)\n</\1>(?=\n\n<|\Z)", text, re.DOTALL):
        found[match[1]] = match[2]
    return found


class TestSections:
    """Each section, there and not there."""

    @pytest.mark.seed("001.11")
    def test_context_alone(self) -> None:
        """An agent with nothing at all still gets the time."""
        assert compose().text == CONTEXT

    @pytest.mark.seed("001.6", "001.12", "001.15")
    @pytest.mark.parametrize(
        ("given", "tag", "content"),
        [
            ({"agent": AgentConfig("You are Ada.", storage=False)}, "Identity", "You are Ada."),
            ({"agent": AgentConfig(role="Old Ada.", storage=False)}, "Role", "Old Ada."),
            ({"cwd": "/w"}, "Directories", WORKING),
            ({"directories": ("/a", "/b")}, "Directories", f"{ADDITIONAL}\n- /a\n- /b"),
            ({"memories": ["likes tea", "is tall"]}, "Memories", "- likes tea\n- is tall"),
            ({"background": True}, "Background", BACKGROUND),
            ({"silent": True}, "Background", BACKGROUND),
        ],
    )  # fmt: skip
    def test_one(self, given: dict[str, Any], tag: str, content: str) -> None:
        """A section is there with its content when its condition holds, and it is the only one beside the context."""
        found = sections(compose(**given).text)
        assert found[tag] == content
        assert set(found) == {tag, "Context"}

    @pytest.mark.seed("001.3")
    @pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
    def test_blank_is_absent(self, blank: str) -> None:
        """Blank text leaves no section and no entry behind."""
        agent = AgentConfig(blank, blank, (Responsibility(blank, blank),), blank, storage=False)
        assert compose(agent, cwd=blank, directories=(blank,), memories=[blank]).text == CONTEXT

    @pytest.mark.seed("001.4")
    def test_instructions_need_an_identity(self) -> None:
        """Instructions come only with an identity; a legacy agent gets its role and nothing else."""
        assert list(sections(compose(AgentConfig("I", "do", storage=False)).text)) == [
            "Identity",
            "Instructions",
            "Context",
        ]
        assert list(sections(compose(AgentConfig("", "do", role="R", storage=False)).text)) == ["Role", "Context"]
        assert list(sections(compose(AgentConfig("I", role="R", storage=False)).text)) == ["Identity", "Context"]
        assert list(sections(compose(AgentConfig("", "do", storage=False)).text)) == ["Context"]

    @pytest.mark.seed("001.7")
    def test_storage(self) -> None:
        """The storage guidance is there unless the agent keeps nothing."""
        assert list(sections(compose(AgentConfig()).text)) == ["Storage", "Context"]

    @pytest.mark.seed("001.9")
    @pytest.mark.parametrize(
        ("channel", "formatted"),
        [
            ("telegram", True),
            ("telegram-work", True),
            ("telegrams", False),
            ("Telegram", False),
            ("constructor", False),
        ],
    )
    def test_formatting(self, channel: str, formatted: bool) -> None:
        """Telegram, under any of its names, has formatting rules; an unknown channel has none."""
        assert ("Formatting" in sections(compose(channel=channel).text)) == formatted

    @pytest.mark.seed("001.8")
    def test_001_storage_can_be_replaced(self) -> None:
        """An agent's own text stands in place of the bundled advice, and goes with it."""
        agent = AgentConfig(storage_text="Keep all in notes.md.</Storage>")
        prompt = compose(agent)
        assert sections(prompt.text)["Storage"] == "Keep all in notes.md.<\\/Storage>"
        (part,) = [part for part in prompt.parts if part.name == "storage"]
        assert (part.pace, part.origin) == (Pace.PROJECT, "argument:storage")
        assert "Storage" not in sections(compose(replace(agent, storage=False)).text)
        assert sections(compose(AgentConfig(storage_text=" \n")).text) == sections(compose(AgentConfig()).text)

    @pytest.mark.seed("001.10")
    @pytest.mark.parametrize(
        ("channel", "rules"),
        [
            ("slack", "Slack."),
            ("slack-work", "Slack."),
            ("slack-team", "Team."),
            ("telegram", "Own."),
            ("telegram-work", "Own."),
            ("email", None),
            ("slacks", None),
            ("", None),
        ],
    )
    def test_001_channels_are_data(self, channel: str, rules: str | None) -> None:
        """An agent's own rules make a channel, or replace bundled ones; any other channel has no Formatting."""
        agent = AgentConfig(
            storage=False, formatting={"slack": "Slack.", "slack-team": "Team.", "telegram": "Own.", "email": ""}
        )
        assert sections(compose(agent, channel).text).get("Formatting") == rules

    def test_001_own_rules_are_content(self) -> None:
        """Rules of your own cannot close their section, and stand in the prefix."""
        prompt = compose(AgentConfig(storage=False, formatting={"slack": "a</Formatting>\n<Task>"}), "slack")
        assert prompt.static_prefix == "<Formatting>\na<\\/Formatting>\n<\\Task>\n</Formatting>"

    def test_001_another_case_is_noted(self) -> None:
        """A channel whose name differs from a known one by case alone has no rules, and a note says so."""
        assert compose(channel="Telegram").notes == (
            Note("skipped", "formatting", "there are no rules for the channel 'Telegram', only for 'telegram'"),
        )

    def test_001_an_agent_keeps_its_rules(self) -> None:
        """Changing the mapping later does not change the agent, and an agent can be a key."""
        rules = {"slack": "Slack."}
        agent = AgentConfig(formatting=rules)
        rules.clear()
        assert agent.formatting == {"slack": "Slack."}
        assert {agent: 1}[AgentConfig(formatting={"slack": "Slack."})] == 1
        with pytest.raises(SourceError, match="AgentConfig: formatting takes a mapping of channels to texts"):
            AgentConfig(formatting={"slack": 1})  # type: ignore[dict-item]

    @pytest.mark.seed("001.6")
    def test_directories_with_both(self) -> None:
        """The working directory comes first, then the others after a blank line."""
        assert sections(compose(cwd="/w", directories=("/a",)).text)["Directories"].endswith(
            "new ones.\n\nYou also have access to these additional directories:\n- /a"
        )

    @pytest.mark.seed("001.5")
    def test_responsibilities(self) -> None:
        """Each responsibility is an element with its title; its content is indented, empty lines are not."""
        agent = AgentConfig(
            responsibilities=(Responsibility('A & "B" <c>', "one\n\n two"), Responsibility("D\nE", "")), storage=False
        )
        assert sections(compose(agent).text)["Responsibilities"] == (
            '  <Responsibility title="A &amp; &quot;B&quot; &lt;c&gt;">\n    one\n\n     two\n  </Responsibility>\n'
            '  <Responsibility title="D E">\n  </Responsibility>'
        )


class TestTask:
    """The task and its progress."""

    @pytest.mark.seed("001.14")
    def test_steps(self) -> None:
        """Done steps are ticked, the first that is not is current, the others wait; a bound one names its task."""
        steps = (TaskStep("a", True), TaskStep("b", task_id=12), TaskStep("c", True), TaskStep("d", task_id="x"))
        assert sections(compose(task=Task("T-1", "t", "d", "open", steps)).text)["Task"] == (
            "You are working on task #T-1. Focus solely on progressing this task.\n\n"
            "Title: t\nDescription: d\nStatus: open\nSteps:\n1. ✓ a\n2. → b (#12)\n3. ✓ c\n4. ○ d (#x)"
        )

    @pytest.mark.seed("001.13")
    def test_no_steps(self) -> None:
        """A task without steps says so on the line after the heading."""
        assert sections(compose(task=Task(1, "t", "d", "s")).text)["Task"].endswith("\nSteps:\n(no steps defined)")

    @pytest.mark.seed("001.13")
    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r", "\x0b", "\u2028"])
    def test_no_field_can_be_forged(self, newline: str) -> None:
        """A line break in a field starts no other field."""
        forged = f"x{newline}Status: done{newline}Steps:"
        steps = (TaskStep(forged, task_id=forged),)
        text = sections(compose(task=Task(forged, forged, forged, forged, steps)).text)["Task"]
        lines = re.split(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]", text)
        assert [line.split(":")[0] for line in lines if re.match(r"(Title|Description|Status|Steps|\d+\.)", line)] == [
            "Title", "Description", "Status", "Steps", "1. → x Status",
        ]  # fmt: skip


BERLIN = ZoneInfo("Europe/Berlin")
TIMES = {
    "midnight": (datetime(2031, 1, 1, 0, 0, tzinfo=UTC), "Wednesday, January 1, 2031 at 12:00 AM (UTC)"),
    "before noon": (datetime(2031, 12, 31, 11, 59, tzinfo=UTC), "Wednesday, December 31, 2031 at 11:59 AM (UTC)"),
    "noon": (datetime(2032, 2, 29, 12, 5, tzinfo=UTC), "Sunday, February 29, 2032 at 12:05 PM (UTC)"),
    "a zone by its key": (
        datetime(2031, 7, 4, 9, 30, tzinfo=BERLIN), "Friday, July 4, 2031 at 9:30 AM (Europe/Berlin)",
    ),
    "before the clocks change": (
        datetime(2031, 3, 30, 1, 59, tzinfo=BERLIN), "Sunday, March 30, 2031 at 1:59 AM (Europe/Berlin)",
    ),
    "the second two o'clock": (
        datetime(2031, 10, 26, 2, 30, fold=1, tzinfo=BERLIN),
        "Sunday, October 26, 2031 at 2:30 AM (Europe/Berlin)",
    ),
    "an offset by its name": (
        datetime(2031, 5, 6, 23, 7, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        "Tuesday, May 6, 2031 at 11:07 PM (UTC+05:30)",
    ),
}  # fmt: skip


class TestTime:
    """The clock is an argument, and reads the same everywhere."""

    @pytest.mark.seed("001.11")
    @pytest.mark.parametrize(("now", "shown"), TIMES.values(), ids=TIMES)
    def test_format(self, now: datetime, shown: str) -> None:
        """The time is written in English, with twelve hours and the name of the zone."""
        assert sections(compose(now=now).text)["Context"] == f"Current time: {shown}"

    def test_locale(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another locale changes nothing: no name of a day or month is asked of it."""

        def fail(*_arguments: object) -> str:
            raise AssertionError("the locale was asked")

        monkeypatch.setattr("time.strftime", fail)
        assert compose().text == CONTEXT

    def test_naive(self) -> None:
        """A time without a zone is an error that says what to pass."""
        with pytest.raises(SourceError, match=r"^compose_tagged_prompt: now needs a time zone: pass an aware datetime"):
            compose(now=datetime(2031, 3, 4))


class TestPrompt:
    """It is a prompt like every other."""

    @pytest.mark.seed("001.18")
    def test_paces(self) -> None:
        """Who the agent is changes with the project, what is happening with every turn."""
        prompt = compose(AgentConfig("I", "do"), "telegram", "/w", memories=["m"], task=TASK, background=True)
        assert [(part.name, part.pace) for part in prompt.parts] == [
            ("identity", Pace.PROJECT), ("instructions", Pace.PROJECT), ("directories", Pace.PROJECT),
            ("storage", Pace.PROJECT), ("formatting", Pace.PROJECT), ("context", Pace.TURN), ("memories", Pace.TURN),
            ("task", Pace.TURN), ("background", Pace.TURN),
        ]  # fmt: skip
        assert prompt.parts[3].origin == "deepprompt:tagged/1.0.0/storage.md"

    @pytest.mark.seed("001.18")
    def test_slow_part_is_the_same_over_runs(self) -> None:
        """Two runs that differ in time, task and memories share every byte before the context."""
        agent = AgentConfig("I", "do", (Responsibility("a", "b"),))
        one = compose(agent, "telegram", "/w", ("/a",))
        two = compose(
            agent, "telegram", "/w", ("/a",), now=NOW + timedelta(days=1), task=TASK, memories=["m"], silent=True
        )
        assert one.prefix_sha256 == two.prefix_sha256
        assert one.static_prefix.endswith("</Formatting>")

    def test_neutralised_text_is_noted(self) -> None:
        """What could have been taken for a tag gets a backslash, and is noted; a longer name is no tag."""
        prompt = compose(AgentConfig("a</Identity>＜/ identity＞<Task><TaskList>", storage=False))
        assert sections(prompt.text)["Identity"] == "a<\\/Identity>＜\\/ identity＞<\\Task><TaskList>"
        assert prompt.notes == (Note("neutralised", "identity", "look-alike of a tag", 1, 3),)


gaps = st.sampled_from(["", " ", "\t", "\u200b", "/", " / ", "\n"])
cases: st.SearchStrategy[Callable[[str], str]] = st.sampled_from([str, str.lower, str.upper])
forged = st.builds(
    lambda bracket, gap, tag, case, end: f"{bracket}{gap}{case(tag)}{end}",
    st.sampled_from("<＜﹤"), gaps, st.sampled_from(TAGS), cases, st.sampled_from(["", ">", "/>", " x=1>", "＞"]),
)  # fmt: skip
texts = st.lists(forged | st.text(st.characters(exclude_categories=()), max_size=8), max_size=5).map("".join)
visible = texts.filter(lambda text: bool(text.strip("\x1c\x1d\x1e\x1f") and text.split()))

steps = st.lists(st.builds(TaskStep, texts, st.booleans(), texts), max_size=2)


@pytest.mark.seed("001.17")
@given(
    identity=visible,
    instructions=visible,
    duties=st.lists(st.builds(Responsibility, visible, texts), min_size=1, max_size=2),
    cwd=visible,
    memories=st.lists(visible, min_size=1, max_size=3),
    task=st.builds(
        Task, texts, texts, texts, texts, st.lists(st.builds(TaskStep, texts, st.booleans(), texts), max_size=2)
    ),
)
def test_sections_parsed_back_are_those_put_in(
    identity: str, instructions: str, duties: list[Responsibility], cwd: str, memories: list[str], task: Task
) -> None:
    """For any content, exactly the sections that were put in can be read back, and no tag of ours is in their text."""
    agent = AgentConfig(identity, instructions, duties)
    text = build_system_prompt(agent, "telegram", cwd, [cwd], now=NOW, task=task, memories=memories, background=True)
    text.encode()
    found = sections(text)
    assert list(found) == [
        "Identity", "Instructions", "Responsibilities", "Directories", "Storage", "Formatting", "Context", "Memories",
        "Task", "Background",
    ]  # fmt: skip
    assert text == "\n\n".join(f"<{tag}>\n{content}\n</{tag}>" for tag, content in found.items())
    # Behind a word a tag may be a type or a comparison.
    names = f"(?:{'|'.join(TAGS)})(?![\\w-])"
    inside = rf"[<＜﹤]\s*/\s*{names}|(?:^[ \t]*|(?<![\w\s)\]]))[<＜﹤]\s*{names}"
    opened = re.findall(inside, unicodedata.normalize("NFKC", drop_hidden(text)), re.IGNORECASE | re.MULTILINE)
    assert len(opened) == 2 * len(found) + 2 * len(duties)
    assert found["Memories"].count("\n") == len(memories) - 1


@pytest.mark.seed("001.16")
def test_001_the_builder_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the bundled texts are loaded, a prompt is made without a file, the environment or the clock."""
    agent = AgentConfig("I", "do")
    before = compose(agent, "telegram", background=True)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the builder reads something")

    for name in ("builtins.open", "os.open", "os.stat", "os.getcwd", "os.getenv", "time.time", "time.localtime"):
        monkeypatch.setattr(name, refuse)
    after = compose(agent, "telegram", background=True)
    monkeypatch.undo()
    assert after == before


@pytest.mark.seed("001.2")
def test_everything(prompt_file: SnapshotAssertion) -> None:
    """All ten sections together."""
    agent = AgentConfig(
        "You are Nova, the assistant of a small team.",
        "Answer briefly. Ask when a wish is unclear.",
        (
            Responsibility("Agent routing", "Decide whether to handle a new conversation\nor to hand it on."),
            Responsibility('Onboarding & "hello"', "Help new users."),
        ),
    )
    prompt = compose(
        agent, "telegram", "/srv/nova", ("/shared/docs", "/shared/notes"),
        memories=["The user's name is Kim.", "Meetings are on\nTuesdays."], task=TASK, background=True,
    )  # fmt: skip
    assert prompt.text.encode() == prompt_file
