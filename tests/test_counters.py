"""Who counts tokens: estimates, what usage teaches, exact vocabularies, and counts of parts that add up."""

from __future__ import annotations

import json
import sys
import time
from importlib.util import find_spec
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import count_tokens, counters, estimate_tokens
from deepprompt.counters import ESTIMATE, ByBytes, ByVocabulary, calibrate, counter_for, vocabulary_of
from deepprompt.errors import UsageError
from tests.support.examples import examples
from tests.support.paths import DATA
from tests.support.token_corpus import TEXTS

COUNTS: dict[str, dict[str, int]] = json.loads((DATA / "token_counts.json").read_text("utf-8"))
MODELS = {"cl100k_base": "gpt-4-turbo", "o200k_base": "gpt-5.6", "deepseek_v3": "deepseek-chat"}

exactly = pytest.mark.skipif(find_spec("splintr") is None, reason="needs deepprompt[tokens]")

VOCABULARIES = {
    "gpt-4": "cl100k_base",
    "gpt-4o-mini": "o200k_base",
    "gpt-4.1": "o200k_base",
    "gpt-5.6-codex": "o200k_base",
    "openai/gpt-5": "o200k_base",
    "azure/eu/GPT-4o": "o200k_base",
    "gpt-3.5-turbo": "cl100k_base",
    "gpt-oss-120b": "o200k_base",
    "o3-pro": "o200k_base",
    "deepseek-reasoner": "deepseek_v3",
    "deepseek/deepseek-v4": "deepseek_v3",
    "gpt-6": "",
    "claude-opus-5-5": "",
    "gemini-3-pro": "",
    "": "",
}


@pytest.mark.parametrize(("model", "vocabulary"), VOCABULARIES.items(), ids=VOCABULARIES)
def test_the_vocabulary_of_a_model(model: str, vocabulary: str) -> None:
    """A model has the vocabulary that its maker publishes for it, and none where none is known."""
    assert vocabulary_of(model) == vocabulary


@exactly
@pytest.mark.parametrize("vocabulary", COUNTS)
def test_exact_counts_are_those_of_the_reference(vocabulary: str) -> None:
    """On code, prose, CJK, emoji, white space and special tokens, the count is the reference tokenizer's."""
    assert set(COUNTS[vocabulary]) == set(TEXTS)
    assert {name: count_tokens(text, MODELS[vocabulary]) for name, text in TEXTS.items()} == COUNTS[vocabulary]


@exactly
@pytest.mark.parametrize("model", MODELS.values())
@examples(150)
@given(st.lists(st.one_of(st.sampled_from(list(TEXTS.values())[:14]), st.text(max_size=30)), max_size=6))
def test_ends_are_the_counts_of_what_was_sent_so_far(model: str, texts: list[str]) -> None:
    """Cut wherever it is, a text has up to each cut the tokens that the text up to there has as a whole."""
    counter = counter_for(model)
    encode = vars(counter)["_encode"]
    whole = ["".join(texts[: number + 1]).encode(errors="replace").decode() for number in range(len(texts))]
    replaced = [text.encode(errors="replace").decode() for text in texts]
    ends = counter.ends(replaced, [number > 0 for number in range(len(texts))])
    assert ends == [len(encode(text)) for text in whole]


@exactly
@pytest.mark.parametrize("model", MODELS.values())
def test_texts_that_are_not_joined_count_each_for_itself(model: str) -> None:
    """Between two messages no token is shared."""
    texts = ["indivis", "ible", "\n\n", "\n"]
    counter = counter_for(model)
    assert counter.ends(texts, [False] * 4) == list(accumulate(map(counter, texts)))
    assert counter.ends(texts[:2], [False, True])[-1] == counter("indivisible")


@exactly
@pytest.mark.parametrize("model", MODELS.values())
def test_pieces_change_no_count(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the pieces are in which a text is counted, it has as many tokens."""
    counts = {name: counter_for(model)(text) for name, text in TEXTS.items()}
    monkeypatch.setattr(counters, "_PIECE", 7)
    small = ByVocabulary("small", vars(counter_for(model))["_encode"])
    assert {name: small(text) for name, text in TEXTS.items()} == counts


def test_only_what_changed_is_counted_again() -> None:
    """A part that was counted is known; one that changed is counted, and nothing else of the prompt."""
    seen: list[str] = []

    def encode(text: str) -> list[int]:
        seen.append(text)
        return [0] * len(text)

    counter = ByVocabulary("letters", encode)
    parts = [f"Part {number}\n" + "words and words\n" * 50 for number in range(5)]
    joined = [number > 0 for number in range(5)]
    whole = counter.ends(parts, joined)
    assert whole[-1] == sum(map(len, parts))
    seen.clear()
    assert counter.ends(parts, joined) == whole
    assert seen == []
    changed = [*parts[:3], parts[3].replace("words and words\n", "other words here\n", 1), parts[4]]
    counter.ends(changed, joined)
    assert sum(map(len, seen)) < len(parts[3]) + 100


def test_lone_surrogates_count_as_what_they_become() -> None:
    """A lone surrogate is sent as U+FFFD, and is counted so."""
    counter = ByVocabulary("letters", lambda text: [0] * len(text.encode()))
    assert counter("a\ud800b") == counter("a\ufffdb") == 5


@exactly
def test_a_long_text_is_counted_in_time() -> None:
    """A megabyte takes far less than a second on any vocabulary: it is counted in pieces."""
    text = TEXTS["long"] * 6
    start = time.perf_counter()
    for model in MODELS.values():
        counter_for(model)(text)
    assert time.perf_counter() - start < 6


@given(st.lists(st.text(max_size=20), max_size=8))
def test_the_estimate_adds_up(texts: list[str]) -> None:
    """The last end of the estimate is the estimate of the whole, and no part has fewer than no tokens."""
    ends = ESTIMATE.ends(texts, [False] * len(texts))
    assert ends == sorted(ends)
    assert (ends or [0])[-1] == estimate_tokens("".join(texts)) == ESTIMATE("".join(texts))


def test_how_it_counts_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A counter says whether it is exact, and what could be done about it if it is not."""
    plain = "estimated: bytes divided by four"
    assert counter_for() is ESTIMATE
    assert (ESTIMATE.basis, ESTIMATE.exact) == (plain, False)
    claude = counter_for("claude-opus-5-5")
    assert claude.basis == f"{plain}; no vocabulary of claude-opus-5-5 is known here, recorded usage can calibrate it"
    counters._by_vocabulary.cache_clear()
    monkeypatch.setitem(sys.modules, "splintr", None)
    missing = counter_for("gpt-5")
    assert missing.basis == f"{plain}; pip install 'deepprompt[tokens]' counts gpt-5 exactly"
    assert not missing.exact
    assert counter_for("gpt-5", calibrate([(8, 3)])).basis == "estimated: 2.67 bytes a token, by one recorded answer"
    monkeypatch.undo()
    counters._by_vocabulary.cache_clear()


@exactly
def test_exact_is_said_to_be_exact() -> None:
    """An exact counter names its vocabulary, and what it leaves out; usage does not make it an estimate."""
    counter = counter_for("gpt-5", calibrate([(8, 3)]))
    assert counter.exact
    assert counter.basis == "exact for the texts: o200k_base; what a chat template adds around them is not counted"


def test_calibration() -> None:
    """Recorded requests teach how many bytes a token has; rows still add up."""
    counter = calibrate([(3000, 1000), (1000, 400), (0, 7), (5, 0)])
    assert counter == ByBytes(1400, 4000, "estimated: 2.86 bytes a token, by 2 recorded answers")
    assert counter("x" * 4000) == 1400
    assert counter.ends(["x" * 10] * 3, [False] * 3) == [3, 7, 10]
    with pytest.raises(UsageError, match="nothing to calibrate by: no request with both a text and its input tokens"):
        calibrate([(0, 3)])
