"""Blame finds the planted cause: what kind of change it is, where it stands, in which file and line, what is lost."""

from __future__ import annotations

import dataclasses
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    InstructionFile,
    Pace,
    Part,
    ProjectContext,
    Prompt,
    Session,
    SystemPromptBuilder,
    blame,
    build_request,
    estimate_tokens,
    read_request,
)
from deepprompt.checks.blame.blame import KINDS, Blame, total_tokens
from deepprompt.prompt import CONTEXT_HEADINGS, INSTRUCTIONS_HEADING, SKILLS_HEADING
from deepprompt.providers import TARGETS
from deepprompt.providers.segments import Segment
from deepprompt.text.compare import shared_start
from deepprompt.words import BlameKind, Target
from tests.support.conversations import Kinds, scenes
from tests.support.examples import examples
from tests.support.planted import MODELS, PLANTS, RULES, TALK, Plant, body, built, edited, said, talk, tooled

PLACES = {
    "anthropic": "system[1]",
    "bedrock": "system[2]",
    "deepseek": "messages[0].content",
    "gemini": "systemInstruction.parts[0]",
    "litellm": "messages[0].content[1]",
    "openai": "messages[0].content[1]",
    "openai-responses": "input[0].content[1]",
}


def first_byte(plant: Plant) -> int:
    """Return where the texts of two requests differ, byte by byte."""
    old, new = [
        "".join([segment.text for segment in read_request(side) if segment.kind != "setting"]).encode()
        for side in (plant.old, plant.new)
    ]
    return first_difference(old, new)


def first_difference(old: bytes, new: bytes) -> int:
    """Return where two texts differ, or where the shorter of them ends."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(old), len(new)))


def found_in(old: Any, new: Any) -> Blame:
    """Return what there is to be blamed, which is something."""
    found = blame(old, new)
    assert found is not None
    return found


@pytest.mark.parametrize("name", PLANTS)
def test_the_planted_cause_is_found(name: str, tmp_path: Path) -> None:
    """What was planted is named, with its place, its source and its line; what is kept and lost is all there is."""
    planted = PLANTS[name](tmp_path)
    found = found_in(planted.old, planted.new)
    told = (found.kind, found.place, found.source, found.line, found.changing)
    assert told == (planted.kind, planted.place, planted.source, planted.line, planted.changing)
    assert found.why == KINDS[planted.kind]
    assert found.kept + found.after == total_tokens(planted.new)
    assert found.kept == found.offset // 4
    assert 0 <= found.repeated <= found.after
    assert len(found.old) <= 120
    assert len(found.new) <= 120
    assert found.old != found.new
    if found.kind == "setting" and planted.exact:
        assert found.offset == 0
    elif planted.exact:
        assert found.offset == first_byte(planted)
    else:
        assert found.offset <= first_byte(planted)
    assert blame(planted.old, planted.old) is None
    assert blame(planted.new, planted.new) is None


def test_the_corpus_reaches_every_kind(tmp_path: Path) -> None:
    """There are more than enough planted causes, and no kind of change that none of them is of."""
    kinds = {function(tmp_path / name).kind for name, function in PLANTS.items()}
    assert kinds == set(KINDS) == set(get_args(BlameKind))
    assert len(PLANTS) >= 60


@pytest.mark.parametrize(("to", "place"), PLACES.items())
def test_the_line_of_a_file_in_every_providers_request(to: Target, place: str, tmp_path: Path) -> None:
    """Whoever the request is for, the file and the line in it are found in the text that was sent."""
    old, new = [body(built(tmp_path, rules), TALK[:1], to) for rules in (RULES, edited(37))]
    found = found_in(old, new)
    assert (found.kind, found.place) == ("edit", place)
    assert (found.source, found.line) == (f"file:{tmp_path}/AGENTS.md", 37)
    assert (found.old, found.new) == ("Rule 37: keep the build green.", "Never touch the build.")


class TestSettings:
    """What decides beside the prompt."""

    def test_the_first_that_counts_is_told(self) -> None:
        """A model costs everything, and so is told before an edit; a choice of tools only the messages."""
        old = said(TALK)
        new = said(talk((0, "Other."))) | {"model": "other", "tool_choice": {"type": "any"}}
        assert found_in(old, new).place == "model"
        assert found_in(old, new | {"model": old["model"]}).place == "tool_choice"
        bare = {name: value for name, value in new.items() if name not in ("tools", "model", "tool_choice")}
        assert found_in(bare, new | {"model": old["model"]}).kind == "tool added"

    def test_what_is_kept(self) -> None:
        """With another choice of tools, tools and system prompt can still be read."""
        old = said(TALK)
        found = found_in(old, old | {"tool_choice": {"type": "any"}})
        before = [segment for segment in read_request(old) if segment.role in ("", "system")]
        assert found.kept == sum(len(segment.text) for segment in before if segment.kind != "setting") // 4
        assert (found.old, found.new) == ("", '{"type":"any"}')

    @pytest.mark.parametrize("to", ["openai", "openai-responses", "deepseek"])
    def test_a_choice_that_costs_nothing(self, to: Target) -> None:
        """OpenAI reads the same prefix, whichever tool is to be called."""
        old = said(TALK, to)
        assert blame(old, old | {"tool_choice": "required"}) is None

    def test_where_entries_end_is_aside(self) -> None:
        """Marks, and the options that stand for marks, cost nothing."""
        old = said(TALK, "openai")
        assert blame(old, old | {"prompt_cache_options": {"mode": "explicit"}}) is None

    def test_nobody_knows_the_model(self) -> None:
        """Where one side does not say its model, its settings are not known, and not compared."""
        old = said(TALK, "openai") | {"service_tier": "flex"}
        assert blame(old["messages"][:1], old["messages"]) is None
        assert blame({"tools": old["tools"], "messages": old["messages"]}, old) is None

    def test_a_setting_that_is_called_like_a_text(self) -> None:
        """OpenAI's setting `text` is no text."""
        old, new = {"text": {"verbosity": "low"}, "input": []}, {"text": {"verbosity": "high"}, "input": []}
        assert blame(old, old) is None
        assert found_in(old, new).place == "text"

    def test_cached_content(self) -> None:
        """Gemini's cached content is what the request begins with."""
        old = said(TALK, "gemini")
        assert found_in(old, old | {"cachedContent": "cachedContents/1"}).place == "cachedContent"

    def test_another_image_is_told_where_it_stands(self) -> None:
        """Only whether there are images decides about all the messages; which ones, from there on."""
        bodies = []
        for data in ("QQ==", "Qg=="):
            image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
            bodies.append(said(talk((4, [image, {"type": "text", "text": "Look."}]))))
        found = found_in(*bodies)
        assert (found.kind, found.place) == ("random id", "messages[4].content[0]")

    def test_an_image_in_a_result(self) -> None:
        """An image in a tool's result is one, too."""
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}
        found = found_in(said(TALK), said(talk((2, [image]))))
        assert (found.kind, found.place) == ("images", "messages[2].content[0]")


class TestMixed:
    """A prompt can be compared with what was made of it."""

    @pytest.mark.parametrize("to", TARGETS)
    def test_a_prompt_and_its_request(self, to: Target, tmp_path: Path) -> None:
        """The request begins with the prompt, however it is cut there; with another prompt, the part is told."""
        old, new = built(tmp_path), built(tmp_path, edited(37))
        request, other_request = [body(prompt, TALK[:1], to) for prompt in (old, new)]
        assert blame(old, request) is None
        assert blame(old.text, body(old, TALK[:1], to, tools=[{"name": "Read"}])) is None
        for side, other in ((old, other_request), (request, new)):
            found = found_in(side, other)
            assert (found.kind, found.place) == ("edit", f"instructions {tmp_path}/AGENTS.md")
            assert (found.source, found.line) == (f"file:{tmp_path}/AGENTS.md", 37)
        found = found_in(old.text, other_request)
        assert (found.place, found.source, found.line) == (PLACES[to], f"file:{tmp_path}/AGENTS.md", 37)

    def test_what_a_text_was_sent_with_is_not_known(self) -> None:
        """A mere text is compared with the system prompt alone, whichever of the two it is."""
        request = body("Be brief.", TALK[:1], tools=[{"name": "Read"}])
        assert blame("Be brief.", request) is None
        assert blame(request, "Be brief.") is None
        assert found_in(request, "Be long.").place == "text"

    def test_a_prompt_knows_its_tools(self) -> None:
        """A prompt without tools is one that had none."""
        prompt = tooled()
        assert found_in(dataclasses.replace(prompt, tools=()), prompt).kind == "tool added"

    def test_a_session(self, tmp_path: Path) -> None:
        """A session that went on begins with what it was; with another context, a message tells the section."""
        files = [InstructionFile("AGENTS.md", "\n".join(RULES))]
        for name, status in (("a", " M a.py\n"), ("b", " M b.py\n")):
            project = ProjectContext(cwd="/work", git_status=status)
            session = Session(SystemPromptBuilder("", files, project=project).compose())
            session.user("Hi.")
            session.save(tmp_path / name)
            session.append({"role": "assistant", "content": "Hello."})
            session.save(tmp_path / f"{name}2")
        loaded = {name: json.loads((tmp_path / name).read_text()) for name in ("a", "a2", "b")}
        assert blame(loaded["a"], loaded["a2"]) is None
        found = found_in(loaded["a2"], loaded["b"])
        assert (found.place, found.source, found.changing) == ("messages[0].content", "git status", True)


class TestParts:
    """Where a prompt is cut into parts changes nothing that is sent."""

    @staticmethod
    def of(*texts: str, names: str = "abcdefgh", origin: str = "test") -> Prompt:
        """Return a prompt of these parts."""
        return Prompt(tuple(Part(name, text, Pace.PROJECT, origin) for name, text in zip(names, texts, strict=False)))

    def test_cut_otherwise(self) -> None:
        """The same text in other parts is the same, and an edit further on is told by its own part."""
        assert blame(self.of("One. ", "Two."), self.of("One. Two.")) is None
        found = found_in(self.of("One. ", "Two. Three."), self.of("One. Two.", " Four."))
        assert (found.place, found.offset) == ("b", 10)

    def test_a_part_more_at_the_end(self) -> None:
        """A part more is what was sent before with something behind it, unless more was sent behind it before."""
        old, new = self.of("One. "), self.of("One. ", "Two.")
        assert blame(old, new) is None
        messages: tuple[dict[str, object], ...] = ({"role": "user", "content": "Hi."},)
        old, new = [dataclasses.replace(prompt, messages=messages) for prompt in (old, new)]
        assert (found_in(old, new).kind, found_in(old, new).place) == ("inserted", "b")
        assert (found_in(new, old).kind, found_in(new, old).place) == ("removed", "b")

    def test_moved(self) -> None:
        """Parts are told apart by their names: one that came, one that went, two that changed places."""
        old = self.of("One. ", "Two. ", "Three.")
        assert found_in(old, self.of("One. ", "Three.", names="ac")).kind == "removed"
        assert found_in(self.of("One. ", "Three.", names="ac"), old).kind == "inserted"
        assert found_in(old, self.of("Two. ", "One. ", "Three.", names="bac")).kind == "order"
        assert found_in(old, self.of("One. ", "More. ", names="ax")).kind == "edit"

    def test_a_file_below_a_heading_of_ours(self) -> None:
        """The first instruction file comes with a heading; it is the file that is blamed."""
        builders = [
            SystemPromptBuilder("You are Ada.", files, "a | b | direct | 0 | c\n")
            for files in ([], [InstructionFile("AGENTS.md", "Run make test.\n")])
        ]
        without, with_file = [builder.compose() for builder in builders]
        for old, new, kind in ((without, with_file, "inserted"), (with_file, without, "removed")):
            found = found_in(old, new)
            assert (found.kind, found.place, found.source) == (kind, "instructions AGENTS.md", "file:AGENTS.md")

    def test_bytes_that_characters_share(self) -> None:
        """The offset is that of the byte, even inside of a character."""
        assert found_in("é", "è").offset == 1
        assert found_in("é", "e").offset == 0
        assert found_in("a\ud800", "a\udfff").offset == 2


class TestPlaces:
    """The file and the section in a mere text."""

    def test_the_layout_is_the_builders(self) -> None:
        """What is looked for in a text is what the builder writes."""
        project = ProjectContext(cwd="/work")
        text = SystemPromptBuilder("", [InstructionFile("a.md", "x")], "a | b", project).build()
        for heading in (DYNAMIC_CONTEXT_BOUNDARY, INSTRUCTIONS_HEADING, SKILLS_HEADING, *CONTEXT_HEADINGS.values()):
            assert text.count(heading) == 1

    FILES = (
        InstructionFile("a.md", "One.\n\n[x]\n\nTwo.\n"),
        InstructionFile("b", "Three."),
        InstructionFile("c/d", "4"),
    )

    @pytest.mark.parametrize(
        ("word", "source", "line", "changing"),
        [
            ("You are", "text", 1, False),
            ("Files", "text", 3, False),
            ("a.md]", "file:_a.md", 0, False),
            ("One.", "file:a.md", 1, False),
            ("Two.", "file:a.md", 5, False),
            ("Three.", "file:a.md", 9, False),
            ("4", "file:c/d", 1, False),
            ("pdf", "skills", 3, False),
            ("/work", "project", 2, True),
            ("M x.py", "git status", 2, True),
            ("no diff", "git diff", 2, True),
        ],
    )
    def test_of_a_text(self, word: str, source: str, line: int, changing: bool) -> None:
        """Each place of a built text belongs to its file, its section, or the text. A file needs a path for a name."""
        project = ProjectContext(cwd="/work", git_status=" M x.py")
        text = SystemPromptBuilder("You are.", self.FILES, "pdf | Reads.", project).build()
        found = found_in(text, text.replace(word, f"_{word}"))
        assert (found.source, found.line, found.changing) == (source, line, changing)

    def test_before_the_first_file_and_the_first_section(self) -> None:
        """Between a heading and what it heads there is nothing to name but the heading."""
        text = SystemPromptBuilder("You.", [InstructionFile("a.md", "x")]).build()
        found = found_in(text.replace("\n\n[a.md]", "\n[a.md]"), text.replace("\n\n[a.md]", "\nThe [a.md]"))
        assert (found.source, found.line) == ("instructions", 2)
        found = found_in(text + "Recalled.", text + "Recalled otherwise.")
        assert (found.source, found.line, found.changing) == ("text", text.count("\n") + 1, True)

    def test_a_long_line_is_cut_around_the_place(self) -> None:
        """At most 120 characters are shown, the place among them."""
        found = found_in("a" * 500 + "b" + "c" * 500, "a" * 500 + "B" + "c" * 500)
        assert found.new == "a" * 60 + "B" + "c" * 59
        assert found_in("a" * 500, "a" * 499).new == "a" * 120


class TestConversations:
    """Blocks that come, go and move."""

    @staticmethod
    def of(*texts: str) -> list[dict[str, object]]:
        """Return messages, the user's and the assistant's in turn."""
        return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]

    def test_an_acknowledgement_is_not_taken_for_another(self) -> None:
        """Of blocks that are often the same, the ones around them decide."""
        old, new = self.of("a", "Ok.", "b", "Ok.", "c"), self.of("a", "Yes, ok.", "b", "Ok.", "c", "Ok.", "d")
        assert found_in(old, new).kind == "edit"
        assert found_in(old, self.of("a", "No.", "x", "Ok.", "b", "Ok.", "c")).kind == "inserted"

    def test_an_edit_among_messages_that_are_all_the_same(self) -> None:
        """What goes on as it did was neither moved nor compacted."""
        found = found_in(self.of("a", *["Go on."] * 6), self.of("b", *["Go on."] * 6))
        assert (found.kind, found.place) == ("edit", "messages[0].content")

    def test_removed_and_gone_on(self) -> None:
        """What is gone is told though the conversation went on."""
        found = found_in(self.of("a", "b", "c", "d", "e"), self.of("a", "b", "e", "f", "g"))
        assert (found.kind, found.place) == ("removed", "messages[2].content")

    def test_all_that_is_left(self) -> None:
        """A conversation that ends earlier has lost nothing that it sends."""
        found = found_in(self.of("a", "b", "c"), self.of("a"))
        assert (found.kind, found.place, found.after) == ("removed", "messages[1].content", 0)

    def test_more_blocks_of_the_same_text(self) -> None:
        """Where blocks are cut otherwise and others follow, the cut is what is told."""
        texts = [
            [{"type": "text", "text": text} for text in side] for side in (["ab", "c"], ["a", "bc", "d"], ["abcd"])
        ]
        old, new, other = [[{"role": "user", "content": content}] for content in texts]
        assert found_in(old, new).kind == "blocks"
        assert found_in(old, other).kind == "extended"

    def test_a_call_of_another_tool(self) -> None:
        """A block that is JSON has no lines, and is told by the value in it."""
        old, new = [
            [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": name, "input": {}}]}]
            for name in ("Read", "Write")
        ]
        found = found_in(old, new)
        assert (found.kind, found.source, found.line, found.block) == ("edit", "messages[0]: name", 1, "tool_use")
        old[0]["content"] = [{"type": "tool_use", "id": "a"}]
        found = found_in(old, new)
        assert (found.kind, found.source, found.line) == ("inserted", "messages[0]: name", 0)


def test_the_cost() -> None:
    """Only what had been sent before would have been read, so only that costs more."""
    old, new = "a" * 400 + "x" + "b" * 1599, "a" * 400 + "y" + "b" * 3599
    found = found_in(old, new)
    assert (found.kept, found.after, found.repeated) == (100, 900, 400)
    assert found_in(new, old).repeated == 400


@given(st.text(), st.text(), st.text())
def test_texts(start: str, old: str, new: str) -> None:
    """For texts there is nothing to blame exactly if the later begins with the earlier; the offset is the true one."""
    old, new = start + old, start + new
    found = blame(old, new)
    assert (found is None) == new.startswith(old)
    if found:
        assert found.offset == first_difference(old.encode(), new.encode())
        assert found.kept + found.after == estimate_tokens(new)
        assert found.kind in KINDS
        assert shared_start(old, new) == len(start) + shared_start(old[len(start) :], new[len(start) :])


WORDS = st.sampled_from(["", "a", "ab", "b", "\n", "é", "è", "\ud800", "2026-11-14", "/a/b", '{"a":1}', "a\nb"])


@given(st.lists(WORDS, max_size=5), st.lists(WORDS, max_size=5), st.booleans())
def test_parts(old: list[str], new: list[str], named: bool) -> None:
    """For prompts in parts the same holds of their texts, wherever they are cut."""
    names = "abcde" if named else "aaaaa"
    prompts = [
        Prompt(tuple(Part(name, text, Pace.PROJECT, "") for name, text in zip(names, texts, strict=False)))
        for texts in (old, new)
    ]
    found = blame(*prompts)
    assert (found is None) == "".join(new).startswith("".join(old))
    if found:
        texts = [prompt.text.encode("utf-8", "surrogatepass") for prompt in prompts]
        assert found.offset == first_difference(texts[0], texts[1])


SEGMENTS = st.builds(
    Segment,
    st.sampled_from(["messages[0]", "tools[0] Read", "tools[1] Grep"]),
    st.sampled_from(["tool", "system", "text", "tool_use", "tool_result", "thinking"]),
    st.sampled_from(["", "system", "user", "assistant"]),
    WORDS,
    st.sampled_from([None, "", "1h"]),
)


@examples(200)
@given(st.lists(SEGMENTS, max_size=4), st.lists(SEGMENTS, max_size=4), st.lists(SEGMENTS, max_size=4))
def test_segments(start: list[Segment], old: list[Segment], new: list[Segment]) -> None:
    """For blocks there is nothing to blame exactly if the later ones begin with the earlier, marks aside."""
    old, new = start + old, start + new
    keys = [[(segment.kind, segment.role, segment.text) for segment in side] for side in (old, new)]
    found = blame(old, new)
    assert (found is None) == (keys[1][: len(keys[0])] == keys[0])
    if found:
        number = next((n for n, (a, b) in enumerate(zip(*keys, strict=False)) if a != b), min(map(len, keys)))
        offset = sum(len(segment.text.encode("utf-8", "surrogatepass")) for segment in new[:number])
        if number < min(map(len, keys)) and keys[0][number][:2] == keys[1][number][:2]:
            pair = [side[number].text.encode("utf-8", "surrogatepass") for side in (old, new)]
            offset += first_difference(pair[0], pair[1])
        assert found.offset == offset


@pytest.mark.slow
@pytest.mark.parametrize("to", TARGETS)
@examples(25)
@given(data=st.data())
def test_a_conversation_that_goes_on(to: Target, data: st.DataObject) -> None:
    """Each request of a conversation begins with the one before it, whoever it is for and wherever its marks stand."""
    kinds = Kinds("none" if to in ("anthropic", "deepseek", "litellm") else "data", result_images=False)
    scene = data.draw(scenes(kinds))
    requests = [
        build_request(scene.prompt, scene.messages(turns), to=to, model=MODELS[to], tools=scene.tools)
        for turns in range(1, len(scene.turns) + 1)
    ]
    for old, new in pairwise([read_request(request.body) for request in requests]):
        assert blame(old, new) is None


HOSTILE = (
    " ", "a", "/", "a-", "1", "1,", "ab12", "\n", "\n\n[", "\\u12", "...", "\u0301\u0327", "word, word\n", '{"a":[',
    "/ab/c.", "ab_", "[", "12:3", "aB1-", "x \t", "&#1", "a:", "Mon", "\r", "é",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_texts_take_no_longer_than_others(unit: str) -> None:
    """Ten megabytes of what could make a pattern go back and forth are compared in a moment."""
    filler = unit * (10_000_000 // len(unit))
    text = SystemPromptBuilder("You.", [InstructionFile("a.md", "x")]).build().partition("x\n")[0]
    started = time.process_time()
    assert blame(f"{text}x{filler}y", f"{text}z{filler}w") is not None
    assert time.process_time() - started < 10
