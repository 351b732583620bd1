"""A request with holes: the bytes of `build_request` for every row, and an error wherever rows would not share."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deepprompt.batch.template import Messages, RequestTemplate, Row, escaped, join_rows
from deepprompt.errors import MessageError
from deepprompt.prompt import Pace, Part, Prompt
from deepprompt.request.request import build_request
from deepprompt.text.hygiene import is_blank, scrub
from deepprompt.words import Target
from tests.support.examples import examples

MODELS: dict[Target, str] = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "us.anthropic.claude-opus-5-5",
    "deepseek": "deepseek-v4-pro",
    "gemini": "gemini-4-argon",
    "litellm": "anthropic/claude-opus-5-5",
    "openai": "gpt-6.1-sol",
    "openai-responses": "gpt-6.1-sol",
}
TOOL = {"name": "look_up", "description": "Look up a word.", "input_schema": {"type": "object", "properties": {}}}
PARTS = (
    Part("base", "You translate 100%b.\n", Pace.RELEASE, "base"),
    Part("rules", "Be brief.", Pace.PROJECT, "rules"),
)
PROMPT = Prompt(PARTS, tools=(TOOL,))
TEXTS = st.text(st.characters(codec=None), max_size=40)


def dumped(body: object) -> str:
    """The JSON that a template writes."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("to", MODELS)
@given(text=TEXTS, other=TEXTS)
@examples(60)
def test_a_filled_row_is_what_build_request_gives(to: Target, text: str, other: str) -> None:
    """Filling in a row gives the same bytes as building its request, whatever its values are."""
    template = RequestTemplate(PROMPT, "{{x}} {text}\n{other}", to=to, model=MODELS[to])
    built = build_request(
        PROMPT, [{"role": "user", "content": f"{{x}} {text}\n{other}"}], to=to, model=MODELS[to], marks="own"
    )
    assert template.body({"text": text, "other": other, "unused": 1}).decode() == dumped(built.body)
    assert template.columns == ("text", "other")
    assert [mark.place for mark in template.request.marks] == [mark.place for mark in built.marks]


@pytest.mark.parametrize("to", MODELS)
@given(text=TEXTS)
@examples(60)
def test_a_value_alone(to: Target, text: str) -> None:
    """A message that is only a value is refused exactly where `build_request` refuses a blank message."""
    template = RequestTemplate("You translate.", "{text}", to=to, model=MODELS[to])
    if is_blank(text):
        with pytest.raises(MessageError, match=r"^'text': blank; a message needs text$"):
            template.body({"text": text})
    else:
        built = build_request(
            "You translate.", [{"role": "user", "content": text}], to=to, model=MODELS[to], marks="own"
        )
        assert template.body({"text": text}).decode() == dumped(built.body)


@pytest.mark.parametrize("to", MODELS)
def test_the_last_mark_is_on_the_shared_part(to: Target) -> None:
    """No mark stands on a row's own message, where it would be written and never read."""
    template = RequestTemplate("You translate. " * 2000, "{text}", to=to, model=MODELS[to])
    assert len(template.request.marks) <= 1
    assert all(mark.tokens <= template.shared_tokens for mark in template.request.marks)
    assert template.shared_tokens == pytest.approx(7_500, abs=20)


def upper(row: Row) -> str:
    """Change a value."""
    return str(row["text"]).upper()


def by_size(row: Row) -> str:
    """Drop most of a value."""
    return str(row["text"])[:3]


@pytest.mark.parametrize(
    ("prompt", "user", "message"),
    [
        (lambda row: f"Hello {row['name']}.", "{text}", r"^the prompt depends on the row at system\[0\]\.text: put "),
        (
            "You.",
            upper,
            r"^the request depends on the row at messages\[0\]\.content\[0\]\.text, and not only by a value",
        ),
        ("You.", by_size, r"^no value of the row is in the request"),
        ("You.", "the same for all", r"^no value of the row is in the request: every row would send the same$"),
        ("You.", "{text", r"^'\{text': expected '\}' before end of string; write \{\{ and \}\} for braces$"),
        ("You.", "{}", r"^'\{\}': in braces stands the name of a column, and nothing else$"),
        ("You.", "{text:>10}", r"in braces stands the name of a column"),
        ("You.", "{text!r}", r"in braces stands the name of a column"),
    ],
)
def test_refused(prompt: str | Callable[[Row], str], user: str | Callable[[Row], str], message: str) -> None:
    """A request that rows do not share, or that no row changes, is an error that names the place."""
    with pytest.raises(MessageError, match=message):
        RequestTemplate(prompt, user, to="anthropic", model="claude-opus-5-5")


def test_a_system_message_is_not_for_values() -> None:
    """The system prompt of an API that keeps it among the messages is shared as well."""
    with pytest.raises(MessageError, match=r"^the prompt depends on the row at messages\[0\]"):
        RequestTemplate(lambda row: f"Hi {row['x']}", "{text}", to="openai", model="gpt-6.1-sol")


def test_messages_of_a_function() -> None:
    """A function may return messages, with an example before the row's own message."""

    def talk(row: Row) -> Messages:
        return [
            {"role": "user", "content": "cat"},
            {"role": "assistant", "content": "Katze"},
            {"role": "user", "content": str(row["word"])},
        ]

    template = RequestTemplate("You translate.", talk, to="anthropic", model="claude-opus-5-5")
    assert b'"dog"' in template.body({"word": "dog"})
    assert template.columns == ("word",)


def test_a_stand_in_cannot_be_forged() -> None:
    """A prompt that contains the stand-in of an earlier template stays as it is."""
    first = RequestTemplate("You.", "{text}", to="anthropic", model="claude-opus-5-5")
    leaked = json.dumps(first.request.body)
    second = RequestTemplate(leaked, "{text}", to="anthropic", model="claude-opus-5-5")
    assert json.loads(second.body({"text": "x"}))["system"][0]["text"] == leaked
    assert second.columns == ("text",)


def test_values_that_are_not_text() -> None:
    """Numbers, lists and objects are sent as JSON; no value, or one that is no JSON, is an error."""
    template = RequestTemplate("You.", "v: {v}", to="deepseek", model="deepseek-v4-pro")
    for value, text in [(7, "7"), (1.5, "1.5"), (True, "true"), (["ä", 1], '["ä",1]'), ({"a": {}}, '{"a":{}}')]:
        assert json.loads(template.body({"v": value}))["messages"][-1]["content"] == f"v: {text}"
    with pytest.raises(MessageError, match=r"^column 'v' has no value$"):
        template.body({"v": None})
    with pytest.raises(MessageError, match=r"^no column 'v'; there are: w$"):
        template.body({"w": "x"})
    for value in (float("nan"), object()):
        with pytest.raises(MessageError, match=r"^column 'v' has neither text nor JSON: "):
            template.body({"v": value})


@given(texts=st.lists(TEXTS, max_size=8))
@examples(200)
def test_many_texts_are_escaped_as_each_is_alone(texts: list[str]) -> None:
    """Escaping many texts at once gives the JSON of each, whatever quotes, commas and line ends are in them."""
    whole = [json.dumps(scrub(text), ensure_ascii=False).encode() for text in texts]
    assert escaped(texts) == [one[1:-1] for one in whole]
    assert join_rows((b"<", b"|", b">\n"), [texts, texts]) == b"".join(
        b"<%b|%b>\n" % (one, one) for one in escaped(texts)
    )


@pytest.mark.parametrize("text", ['",', '"', "\\", '\\"', '",\n"', "\n", '"],["', "\u2028", "\x00\x7f\x85"])
def test_texts_that_look_like_separators(text: str) -> None:
    """A text that looks like the end of another one stays one text."""
    assert [json.loads(b'"%b"' % one) for one in escaped([text, "x", text])] == [text, "x", text]


def test_fields() -> None:
    """Fields are set in every body, and one that is None is left out."""
    template = RequestTemplate(
        "You.", "{v}", to="openai", model="gpt-6.1-sol", fields={"model": None, "temperature": 0, "n": 1}
    )
    body = json.loads(template.body({"v": "x"}))
    assert (body["temperature"], body["n"], "model" in body) == (0, 1, False)


def test_a_template_can_be_pickled() -> None:
    """Engines send a template to their workers."""
    template = RequestTemplate(PROMPT, "v: {v}", to="anthropic", model="claude-opus-5-5")
    assert pickle.loads(pickle.dumps(template)).body({"v": "x"}) == template.body({"v": "x"})


@pytest.mark.parametrize("library", ["numpy", "pandas", "pyarrow"])
def test_columns_of_other_libraries(library: str) -> None:
    """Columns of numpy, pandas and Arrow have their plain values in the requests; all columns stay in the table."""
    module: Any = pytest.importorskip(library, reason=f"{library} is not installed")
    make = {"numpy": "array", "pandas": "Series", "pyarrow": "array"}[library]
    columns = {"v": getattr(module, make)(["a", "ü"]), "n": getattr(module, make)([1, 2])}
    template = RequestTemplate("You.", "{v} {n}", to="deepseek", model="deepseek-v4-pro")
    table = template(columns)
    assert list(table) == ["v", "n", "body"]
    assert [json.loads(str(body))["messages"][-1]["content"] for body in table["body"]] == ["a 1", "ü 2"]


@given(texts=st.lists(TEXTS, min_size=1, max_size=5))
@examples(30)
def test_as_a_callable_for_a_table(texts: list[str]) -> None:
    """Called with columns, as Ray Data does, it returns the same bodies row by row."""
    assume(not any("\ud800" <= letter <= "\udfff" for text in texts for letter in text))
    template = RequestTemplate("You.", "v: {v}", to="openai", model="gpt-6.1-sol")
    assert template({"v": texts})["body"] == [template.body({"v": text}).decode() for text in texts]
