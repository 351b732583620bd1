"""What is known of each provider's cache: the bundled facts, the rules of a model out of them, and one's own over them.

The tables here are written from the notes that the facts were written from, not from the facts themselves.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import deepprompt.providers
from deepprompt import Pace, Part, Prompt, build_request, bundled
from deepprompt.errors import AssetError
from deepprompt.providers.facts import Facts, bundled_facts, load_facts
from deepprompt.words import Target

AS_OF = "2026-11-18"

# Tokens, and the models that Anthropic caches from so many on.
MINIMUMS = {
    512: "fable-5-1 mythos-5-1 fable-5 mythos-5 opus-5-5 opus-5 sonnet-5-5 haiku-5-5",
    1024: "opus-4-8 sonnet-5 sonnet-4-6 sonnet-4-5 opus-4-1 opus-4 sonnet-4 opus-4-0 sonnet-4-0",
    2048: "opus-4-7 mythos-preview haiku-3-5 3-5-haiku",
    4096: "opus-4-6 opus-4-5 haiku-4-5",
}
CLAUDE = [(f"claude-{name}", minimum) for minimum, names in MINIMUMS.items() for name in names.split()]
ON_BEDROCK = [(name, 4096 if name == "claude-opus-4-7" else minimum) for name, minimum in CLAUDE
              if not name.endswith(("-4-0", "haiku-3-5"))]  # fmt: skip
READ_PRICES = {
    "claude-fable-5-1": 0.025,
    "claude-mythos-5-1": 0.025,
    "claude-opus-5-5": 0.05,
    "claude-sonnet-5-5": 0.05,
}
SYSTEM_MESSAGES = {
    "claude-fable-5-1", "claude-mythos-5-1", "claude-fable-5", "claude-mythos-5", "claude-opus-4-8", "claude-opus-5",
    "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5",
}  # fmt: skip
CARRIERS = {
    "text", "image", "document", "search_result", "tool_use", "tool_result", "server_tool_use", "tool_reference",
    "container_upload", "browser_state", "web_search_tool_result", "web_fetch_tool_result",
    "code_execution_tool_result", "bash_code_execution_tool_result", "text_editor_code_execution_tool_result",
    "tool_search_tool_result", "tools", "system",
}  # fmt: skip

MARKED_GPT = ["gpt-5.6", "gpt-5.6-sol", "gpt-5.6-luna", "gpt-6", "gpt-6-sol", "gpt-6.1", "gpt-6.1-luna", "gpt-6.1-sol"]
OLDER_GPT = {
    "gpt-5": 0.1, "gpt-5-mini": 0.1, "gpt-5.1": 0.1, "gpt-5.2": 0.1, "gpt-5.3-codex": 0.1, "gpt-5.4": 0.1,
    "gpt-5.5": 0.1, "gpt-4.1": 0.25, "gpt-4.1-mini": 0.25, "gpt-4o": 0.5, "gpt-4o-mini": 0.5,
}  # fmt: skip

# A model as it may be asked for, and its own name.

# What LiteLLM calls a model, and the provider whose rules hold.
ROUTES = {
    "anthropic/claude-opus-5-5": "anthropic",
    "vertex_ai/claude-opus-5-5": "anthropic",
    "bedrock/us.anthropic.claude-opus-5-5": "bedrock",
    "bedrock/converse/amazon.nova-pro-v1:0": "bedrock",
    "openai/gpt-5.6-sol": "openai",
    "azure/my-deployment": "openai",
    "deepseek/deepseek-v4-pro": "deepseek",
    "gemini/gemini-3.8-flash": "gemini",
    "vertex_ai/gemini-3.8-flash": "gemini",
    "hosted_vllm/any": "vllm",
    "claude-opus-5-5": "anthropic",
    "gpt-4o": "openai",
    "gemini-2.5-pro": "gemini",
    "deepseek-v4-flash": "deepseek",
    "amazon.nova-pro-v1:0": "bedrock",
    "openrouter/anthropic/claude-opus-5-5": "",
    "anthropics/claude-opus-5-5": "",
    "mistral/mistral-large": "",
    "llama-4": "",
    "": "",
}

FORM = 'facts are {"as_of": DATE, "providers": {NAME: ...}}'
OF_PROVIDER = "defaults, kinds, like, models, routes, sources, title"
PROVIDERS = "anthropic, bedrock, openai, openai-responses, deepseek, gemini, vllm, sglang, llama.cpp, litellm"
MERGED = "facts of 2026.11.18.1 under own.json"

# A file of one's own, and what is said of it after its name.
WRONG: dict[str, tuple[str | bytes, str]] = {
    "not JSON": ("{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    "empty": ("", "not JSON: Expecting value: line 1 column 1 (char 0)"),
    "not UTF-8": (b'{"\xff', "not UTF-8 at byte 2; save it as UTF-8"),
    "nested": ("[" * 100_000, "nested too deeply"),
    "a list": ("[]", FORM),
    "a number": ("1", FORM),
    "no providers": ('{"as_of": "2027-01-01"}', FORM),
    "providers in a list": ('{"providers": []}', FORM),
    "other keys": ('{"providers": {}, "asof": "x"}', "'asof' is not known; there are: as_of, providers"),
    "no date": ('{"as_of": 2027, "providers": {}}', "as_of is a date such as 2026-11-15, not 2027"),
    "a date of its own": ('{"as_of": "May", "providers": {}}', "as_of is a date such as 2026-11-15, not 'May'"),
}  # fmt: skip

# An entry for Anthropic, and what is said of it after the file and the provider.
WRONG_ENTRY: dict[str, tuple[Any, str]] = {
    "no object": ([], "expected an object, not []"),
    "unknown key": ({"model": []}, f"'model' is not known; there are: {OF_PROVIDER}"),
    "title": ({"title": 1}, "title is text, not 1"),
    "like": ({"like": None}, "like is the name of a provider, not None"),
    "models": ({"models": {"claude-next": {}}}, "models is a list of objects, not {'claude-next': {}}"),
    "defaults": ({"defaults": []}, "defaults is an object of rules, not []"),
    "kinds": ({"kinds": []}, "kinds is an object of objects, not []"),
    "kind": ({"kinds": {"x": 1}}, "kind 'x' is an object of rules, not 1"),
    "routes": ({"routes": []}, "routes is an object of texts, not []"),
    "route": ({"routes": {"x": 1}}, "route 'x' leads to the name of a provider, not 1"),
    "sources": ({"sources": "a page"}, 'sources is a list of {"read": DATE, "from": WHERE}, not \'a page\''),
    "source": ({"sources": [{"from": "x"}]}, 'sources[0] is {"read": DATE, "from": WHERE}, not {\'from\': \'x\'}'),
    "source of text": ({"sources": ["a page"]}, 'sources[0] is {"read": DATE, "from": WHERE}, not \'a page\''),
    "names missing": ({"models": [{"minimum": 1}]}, "models[0] needs names, a list of patterns"),
    "no names": ({"models": [{"names": []}]}, "models[0] needs names, a list of patterns"),
    "one name": ({"models": [{"names": "x"}]}, "models[0] needs names, a list of patterns"),
    "names of numbers": ({"models": [{"names": ["x"]}, {"names": [1]}]}, "models[1] needs names, a list of patterns"),
    "model of text": ({"models": ["x"]}, "models[0] needs names, a list of patterns"),
    "no rule": (
        {"models": [{"names": ["x"], "minimun": 1}]},
        "models[0]: 'minimun' is no rule; did you mean minimum?",
    ),
    "no rule of a kind": ({"kinds": {"x": {"mark": 1}}}, "kind 'x': 'mark' is no rule; did you mean marks?"),
    "a rule that is none": ({"defaults": {"known": True}}, "defaults: 'known' is no rule; there are: "),
    "names in defaults": ({"defaults": {"names": ["x"]}}, "defaults: 'names' is no rule; there are: "),
    "whole number": ({"defaults": {"minimum": "512"}}, "defaults: minimum is a whole number, not '512'"),
    "whole number, half": ({"defaults": {"minimum": 0.5}}, "defaults: minimum is a whole number, not 0.5"),
    "whole number, less": ({"defaults": {"minimum": -1}}, "defaults: minimum is a whole number, not -1"),
    "whole number, true": ({"defaults": {"minimum": True}}, "defaults: minimum is a whole number, not True"),
    "number": ({"defaults": {"read_price": "0.1"}}, "defaults: read_price is a number, not '0.1'"),
    "no number": ({"defaults": {"read_price": float("nan")}}, "defaults: read_price is a number, not nan"),
    "truth": ({"defaults": {"image_urls": 1}}, "defaults: image_urls is true or false, not 1"),
    "text": ({"defaults": {"system_role": None}}, "defaults: system_role is text, not None"),
    "texts": ({"defaults": {"lifetimes": "5m"}}, "defaults: lifetimes is a list of texts, not '5m'"),
    "texts of numbers": ({"defaults": {"images": [1]}}, "defaults: images is a list of texts, not [1]"),
    "numbers": ({"defaults": {"write_price": 1}}, "defaults: write_price is an object of numbers, not 1"),
    "numbers of texts": (
        {"defaults": {"write_price": {"5m": "x"}}},
        "defaults: write_price is an object of numbers, not {'5m': 'x'}",
    ),
    "caching": (
        {"defaults": {"caching": "always"}},
        "defaults: caching is one of marked, implicit, automatic, none, not 'always'",
    ),
    "expression": (
        {"defaults": {"tool_name": "["}},
        "defaults: tool_name is no regular expression: unterminated character set at position 0",
    ),
}  # fmt: skip

# Providers that read well one by one, and what is wrong between them.
WRONG_LINKS: dict[str, tuple[dict[str, Any], str]] = {
    "like nobody": (
        {"mine": {"like": "nobody"}},
        f"mine: like 'nobody', which is no provider; there are: {PROVIDERS}, mine",
    ),
    "like itself": ({"mine": {"like": "mine"}}, "mine: like goes in a circle: mine -> mine"),
    "in a circle": (
        {"openai": {"like": "openai-responses"}},
        "openai: like goes in a circle: openai -> openai-responses -> openai",
    ),
    "into a circle": (
        {"a": {"like": "b"}, "b": {"like": "c"}, "c": {"like": "b"}},
        "a: like goes in a circle: a -> b -> c -> b",
    ),
    "a kind that is none": (
        {"bedrock": {"models": [{"names": ["x"], "like": "claud"}]}},
        "bedrock: model x: like 'claud'; its kinds are claude, nova",
    ),
    "no kinds": (
        {"mine": {"models": [{"names": ["x"], "like": ["claude"]}]}},
        "mine: model x: like ['claude']; it has no kinds",
    ),
    "marks without lifetimes": (
        {"mine": {"defaults": {"marks": 2}}},
        'mine: defaults: marks need lifetimes, such as ["5m"]',
    ),
    "a model's marks": (
        {"deepseek": {"models": [{"names": ["x"], "marks": 1}]}},
        'deepseek: model x: marks need lifetimes, such as ["5m"]',
    ),
    "a route": (
        {"litellm": {"routes": {"groq": "nobody"}}},
        f"litellm: route 'groq' leads to 'nobody'; there are: {PROVIDERS}",
    ),
}

Write = Callable[[object], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return what writes `own.json` in the current folder and returns its name."""
    monkeypatch.chdir(tmp_path)

    def put(content: object) -> str:
        data = content if isinstance(content, bytes) else content if isinstance(content, str) else json.dumps(content)
        Path("own.json").write_bytes(data if isinstance(data, bytes) else data.encode())
        return "own.json"

    return put


class TestAnthropic:
    """Claude, from Anthropic."""

    @pytest.mark.parametrize(("model", "minimum"), CLAUDE)
    def test_model(self, model: str, minimum: int) -> None:
        """Each model has its own minimum and read price; marks, lookback, lifetimes and write prices are the same."""
        rules = bundled_facts().rules("anthropic", model)
        assert (rules.known, rules.minimum, rules.read_price) == (True, minimum, READ_PRICES.get(model, 0.1))
        assert (rules.caching, rules.marks, rules.lookback, rules.tool_runs_count_once) == ("marked", 4, 20, True)
        assert (rules.lifetimes, rules.write_price) == (("5m", "1h"), {"5m": 1.25, "1h": 2.0})
        assert (rules.lives_from_start, rules.input_includes_cached) == (True, False)
        assert rules.carriers == CARRIERS
        assert rules.system_messages == (model in SYSTEM_MESSAGES)

    def test_thinking_carries_no_mark(self) -> None:
        """Thinking is taken, and carries no mark."""
        rules = bundled_facts().rules("anthropic", "claude-opus-5")
        assert {"thinking", "redacted_thinking"} <= rules.blocks - rules.carriers

    def test_unknown(self) -> None:
        """An unknown model gets the largest minimum, the usual price, and no system message in the conversation."""
        rules = bundled_facts().rules("anthropic", "claude-opus-9")
        assert (rules.known, rules.minimum, rules.read_price) == (False, max(MINIMUMS), 0.1)
        assert (rules.marks, rules.lifetimes, rules.system_messages) == (4, ("5m", "1h"), False)


class TestBedrock:
    """Bedrock's Converse."""

    @pytest.mark.parametrize(("model", "minimum"), ON_BEDROCK)
    def test_claude(self, model: str, minimum: int) -> None:
        """Claude is as at Anthropic, but for Opus 4.7, for tool blocks that count one by one, and for the carriers."""
        rules = bundled_facts().rules("bedrock", f"us.anthropic.{model}-v1:0")
        assert (rules.known, rules.minimum, rules.read_price) == (True, minimum, READ_PRICES.get(model, 0.1))
        assert (rules.caching, rules.marks, rules.lookback, rules.tool_runs_count_once) == ("marked", 4, 20, False)
        assert (rules.lifetimes, rules.write_price) == (("5m", "1h"), {"5m": 1.25, "1h": 2.0})
        assert rules.input_includes_cached is False
        assert rules.carriers < CARRIERS

    @pytest.mark.parametrize("model", ["nova-micro", "nova-lite", "nova-pro", "nova-premier"])
    def test_nova(self, model: str) -> None:
        """Nova finds an entry only at a checkpoint, which no tool carries, and charges no more to write one."""
        rules = bundled_facts().rules("bedrock", f"amazon.{model}-v1:0")
        assert (rules.known, rules.minimum, rules.marks, rules.lookback) == (True, 1024, 4, 1)
        assert (rules.lifetimes, rules.write_price, rules.read_price) == (("5m",), {"5m": 1.0}, 0.25)
        assert rules.carriers == {"text", "system"}

    def test_sources_of_nova(self) -> None:
        """What is known of Nova is said to be from elsewhere than the rest."""
        said = [source["from"] for source in bundled_facts().sources("bedrock") if "Nova" in source["from"]]
        assert any("litellm 1.108.4" in source and "read price" in source for source in said)
        assert any("2025" in source and "1,024" in source and "4 checkpoints" in source for source in said)

    def test_unknown(self) -> None:
        """A model that may know no checkpoint is sent none."""
        rules = bundled_facts().rules("bedrock", "meta.llama-4-v1:0")
        assert (rules.known, rules.caching, rules.marks, rules.carriers) == (False, "none", 0, frozenset())


class TestOpenAI:
    """GPT, at both of OpenAI's endpoints."""

    @pytest.mark.parametrize("provider", ["openai", "openai-responses"])
    @pytest.mark.parametrize("model", MARKED_GPT)
    def test_marked(self, model: str, provider: str) -> None:
        """From GPT-5.6 on there are three marks beside the implicit one, exact to the token, and paid writes."""
        rules = bundled_facts().rules(provider, model)
        assert (rules.known, rules.caching, rules.marks, rules.minimum) == (True, "implicit", 3, 1024)
        assert (rules.lookback, rules.lookup_first, rules.lookup_latest) == (20, 2, 50)
        assert (rules.granularity, rules.reported, rules.lives) == (1, 1, "")
        assert (rules.write_price, rules.read_price) == ({"30m": 1.25}, 0.05 if model == "gpt-6.1-sol" else 0.1)
        assert (rules.input_includes_cached, rules.system_role) == (True, "developer")

    def test_endpoints_differ(self) -> None:
        """Only Responses has the lifetime of 12 hours, and a mark inside a tool's answer."""
        chat, responses = (bundled_facts().rules(to, "gpt-5.6") for to in ("openai", "openai-responses"))
        assert (chat.lifetimes, responses.lifetimes) == (("30m",), ("30m", "12h"))
        assert chat.carriers == {"text", "image", "input_audio", "file", "system"}
        assert responses.carriers == {"text", "image", "input_file", "system", "tool_result"}

    @pytest.mark.parametrize(("model", "price"), OLDER_GPT.items())
    def test_older(self, model: str, price: float) -> None:
        """Before, caching is automatic, free to write, and takes none of the new fields."""
        rules = bundled_facts().rules("openai", model)
        assert (rules.known, rules.caching, rules.marks, rules.carriers) == (True, "automatic", 0, frozenset())
        assert (rules.minimum, rules.read_price, rules.write_price, rules.lifetimes) == (1024, price, {}, ())
        newest = model == "gpt-5.5"
        assert (rules.granularity, rules.reported) == (2048 if newest else 128, 128)
        assert rules.lives == ("24h" if newest else "5m")
        assert rules.system_role == ("developer" if model.startswith("gpt-5") else "system")

    @pytest.mark.parametrize("model", ["gpt-9", "o9", "my-deployment", "gpt-5.60", "gpt-60"])
    def test_unknown(self, model: str) -> None:
        """An unknown model is sent no field that an older one refuses."""
        rules = bundled_facts().rules("openai", model)
        assert (rules.known, rules.caching, rules.marks, rules.read_price) == (False, "automatic", 0, 0.5)

    @pytest.mark.parametrize("model", ["gpt-4o", "gpt-5.6"])
    def test_other_blocks(self, model: str) -> None:
        """Files and sound are taken by any model, whether or not it takes marks."""
        rules = bundled_facts().rules("openai", model)
        assert {"file", "input_audio"} <= rules.blocks | rules.carriers


class TestOthers:
    """DeepSeek, Gemini, the engines."""

    @pytest.mark.parametrize(
        ("model", "known", "price"),
        [("deepseek-v4-pro", True, 0.033), ("deepseek-v4-flash", True, 0.02), ("deepseek-v9", False, 0.033)],
    )
    def test_deepseek(self, model: str, known: bool, price: float) -> None:
        """DeepSeek reads whole units or nothing, publishes no minimum, and reports multiples of 128."""
        rules = bundled_facts().rules("deepseek", model)
        assert (rules.known, rules.caching, rules.marks, rules.read_price) == (known, "automatic", 0, price)
        assert (rules.whole_units, rules.reported, rules.granularity, rules.minimum) == (True, 128, 1, 0)
        assert rules.input_includes_cached

    @pytest.mark.parametrize(
        ("model", "known", "minimum"),
        [
            ("gemini-4-argon", True, 4096),
            ("gemini-3.8-flash", True, 4096),
            ("models/gemini-3.6-flash", True, 4096),
            ("gemini-3.1-pro-preview", True, 4096),
            ("gemini-2.5-pro", True, 2048),
            ("gemini-2.5-flash-lite", True, 2048),
            ("vertex_ai/gemini-2.5-pro", True, 2048),
            ("vertex_ai/gemini-4-argon", True, 6144),
            ("gemini-9", False, 4096),
        ],
    )
    def test_gemini(self, model: str, known: bool, minimum: int) -> None:
        """Gemini has a minimum for its implicit cache, larger on Vertex for one model, and one for cached content."""
        rules = bundled_facts().rules("gemini", model)
        assert (rules.known, rules.minimum, rules.explicit_minimum) == (known, minimum, 1024)
        assert (rules.caching, rules.marks, rules.read_price) == ("automatic", 0, 0.1)
        assert rules.input_includes_cached

    @pytest.mark.parametrize(
        ("engine", "granularity", "last"), [("vllm", 16, True), ("sglang", 1, True), ("llama.cpp", 1, True)]
    )
    def test_engines(self, engine: str, granularity: int, last: bool) -> None:
        """An engine caches whatever model it runs, in blocks of its own; some compute the last token again."""
        rules = bundled_facts().rules(engine, "any/model")
        assert (rules.caching, rules.granularity, rules.last_token_recomputed) == ("automatic", granularity, last)
        assert (rules.minimum, rules.read_price, rules.input_includes_cached) == (0, 1.0, True)


class TestBundled:
    """The file as a whole."""

    @pytest.mark.parametrize("provider", PROVIDERS.split(", "))
    def test_sources(self, provider: str) -> None:
        """Every provider says where its facts were read, and when, not later than they are of."""
        own = bundled_facts().data["providers"][provider]["sources"]
        assert own
        for source in bundled_facts().sources(provider):
            assert set(source) == {"read", "from"}
            assert re.fullmatch(r"2026-\d\d-\d\d", source["read"])
            assert source["read"] <= AS_OF
            assert source["from"]

    def test_sources_of_what_it_is_like(self) -> None:
        """A provider that is like another has that one's sources too, first."""
        facts = bundled_facts()
        assert facts.sources("openai-responses")[: len(facts.sources("openai"))] == facts.sources("openai")

    def test_date(self) -> None:
        """The facts are of the date that their version is called by."""
        assert bundled().versions("providers") == ["2026.11.15", "2026.11.18", "2026.11.18.1"]
        assert (bundled_facts().as_of, bundled_facts().label) == (AS_OF, "facts of 2026.11.18.1")
        assert bundled_facts() is bundled_facts()

    def test_providers(self) -> None:
        """The providers are listed, sorted."""
        assert bundled_facts().providers() == sorted(PROVIDERS.split(", "))

    def test_unknown_provider(self) -> None:
        """A provider that there is not is an error that lists those there are."""
        with pytest.raises(AssetError) as caught:
            bundled_facts().rules("antropic", "x")
        there = ", ".join(sorted(PROVIDERS.split(", ")))
        assert str(caught.value) == f"facts of 2026.11.18.1 has no provider 'antropic'; there are: {there}"

    def test_one_model_a_line(self) -> None:
        """The file stays readable: no line has two models, and none is endless."""
        lines = bundled().file("providers", "2026.11.18.1", "facts.json").split("\n")
        assert max(map(len, lines)) < 240
        assert max(line.count('"names"') for line in lines) == 1

    def test_every_name_is_its_own(self) -> None:
        """No entry is hidden behind an earlier one that has all its names."""
        facts = bundled_facts()
        for provider, entry in facts.data["providers"].items():
            for model in entry.get("models", ()):
                named = [name.removesuffix("-*") for name in model["names"]]
                first = {key: value for key, value in model.items() if key not in ("names", "like")}
                for name in named:
                    rules = facts.rules(provider, name)
                    assert {key: getattr(rules, key) for key in first} == first


class TestNoFactInTheCode:
    """Facts go stale: the code knows none."""

    NUMBERS = frozenset({20, 128, 512, 1024, 2048, 4096, 6144, 0.1, 0.25, 0.5, 0.05, 0.025, 0.02, 0.033, 1.25})
    LIFETIMES = frozenset({"5m", "30m", "1h", "12h", "24h"})

    @staticmethod
    def constants(path: Path) -> Iterator[tuple[int, object]]:
        """Yield the constants of a module with their lines; what is reached by shifting counts as its result."""
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and not isinstance(node.value, bool):
                yield node.lineno, node.value
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift | ast.Mult | ast.Pow):
                text = ast.unparse(node)
                if re.fullmatch(r"[\d\s<*()]+", text):
                    yield node.lineno, eval(text, {})

    @pytest.mark.parametrize(
        "path", sorted(Path(deepprompt.providers.__file__).parent.glob("*.py")), ids=lambda path: path.name
    )
    def test_module(self, path: Path) -> None:
        """No module has a minimum, a lookback, a price or a lifetime of a provider."""
        known = self.NUMBERS | self.LIFETIMES
        found = [(line, value) for line, value in self.constants(path) if value in known]
        if path.name == "usage.py":  # there they are the names of fields in an answer
            found = [(line, value) for line, value in found if value not in self.LIFETIMES]
        assert found == []

    def test_would_find_one(self, tmp_path: Path) -> None:
        """What is looked for is found where it stands."""
        path = tmp_path / "module.py"
        path.write_text("minimum = 1 << 10\nlifetime: str = '5m'\nlookback, flag = 20, True\n")
        found = {value for _, value in self.constants(path)}
        assert {1024, "5m", 20} <= found & (self.NUMBERS | self.LIFETIMES)


class TestNames:
    """How a model may be called."""

    @pytest.mark.parametrize("model", ["next-v2", "mine/next-v2", "Next-V2", "next-v2-20270101", "next-v2@today"])
    def test_a_name_that_ends_like_a_version(self, model: str, write: Write) -> None:
        """A model whose own name ends like a version is found by it, behind a route too."""
        facts = load_facts(write({"providers": {"openai": {"models": [{"names": ["Next-v2", "next-v2-*"]}]}}}))
        assert facts.rules("openai", model).known == (model != "next-v2@today")

    @pytest.mark.parametrize(("model", "provider"), ROUTES.items())
    def test_route(self, model: str, provider: str) -> None:
        """A LiteLLM name leads to a provider by its route or, without one, by the model; else to none."""
        assert bundled_facts().route(model) == provider

    def test_no_routes(self) -> None:
        """Facts that know nothing of LiteLLM still know a model by its name."""
        models = [{"names": ["mine-*"]}]
        facts = Facts({"as_of": AS_OF, "providers": {"x": {}, "mine": {"models": models}}}, "own")
        assert [facts.route(name) for name in ("mine-1", "anthropic/mine-1", "yours")] == ["mine", "", ""]


class TestOwn:
    """Facts of one's own over the bundled ones."""

    def test_model_before_ours(self, write: Write) -> None:
        """A model of one's own counts before a bundled entry that names it, and changes only what it says."""
        own = {"providers": {"anthropic": {"models": [{"names": ["claude-opus-5"], "minimum": 256}]}}}
        rules = load_facts(write(own)).rules("anthropic", "anthropic/claude-opus-5")
        assert (rules.known, rules.minimum, rules.read_price, rules.marks) == (True, 256, 0.1, 4)
        assert rules.system_messages is False
        assert load_facts("own.json").rules("anthropic", "claude-opus-5-5").minimum == 512

    def test_new_model_of_a_kind(self, write: Write) -> None:
        """A model may be like a bundled kind."""
        own = {"providers": {"bedrock": {"models": [{"names": ["claude-next"], "like": "claude", "minimum": 512}]}}}
        rules = load_facts(write(own)).rules("bedrock", "eu.anthropic.claude-next-v1:0")
        assert (rules.known, rules.marks, rules.minimum, rules.lifetimes) == (True, 4, 512, ("5m", "1h"))

    def test_defaults_by_key(self, write: Write) -> None:
        """A default of one's own takes the place of that default alone."""
        rules = load_facts(write({"providers": {"openai": {"defaults": {"minimum": 2000}}}})).rules("openai", "gpt-9")
        assert (rules.minimum, rules.read_price, rules.granularity) == (2000, 0.5, 128)

    def test_kinds_by_key(self, write: Write) -> None:
        """A rule of a kind takes the place of that rule alone, wherever the kind is meant."""
        facts = load_facts(write({"providers": {"openai": {"kinds": {"marked": {"marks": 2}, "new": {"marks": 0}}}}}))
        for to in ("openai", "openai-responses"):
            rules = facts.rules(to, "gpt-5.6")
            assert (rules.marks, rules.caching, rules.write_price) == (2, "implicit", {"30m": 1.25})

    def test_new_provider(self, write: Write) -> None:
        """A provider of one's own may be like another; its entries count before those of that one."""
        own = {
            "providers": {
                "mine": {"like": "anthropic", "defaults": {"marks": 2}, "models": [{"names": ["house"], "minimum": 64}]}
            }
        }
        facts = load_facts(write(own))
        assert "mine" in facts.providers()
        assert (facts.rules("mine", "house").minimum, facts.rules("mine", "house").marks) == (64, 2)
        assert (facts.rules("mine", "claude-opus-5").minimum, facts.rules("mine", "other").minimum) == (512, 4096)
        assert facts.sources("mine") == facts.sources("anthropic")

    def test_route(self, write: Write) -> None:
        """A route of one's own is followed, the longest first, and the bundled ones stay."""
        own = {"providers": {"litellm": {"routes": {"house": "vllm", "house/claude": "anthropic"}}}}
        facts = load_facts(write(own))
        assert [facts.route(f"{name}-1") for name in ("house/llama", "house/claude", "deepseek/x")] == [
            "vllm", "anthropic", "deepseek",
        ]  # fmt: skip

    def test_sources(self, write: Write) -> None:
        """One's own sources stand before the bundled ones."""
        source = {"read": "2027-01-10", "from": "a page"}
        facts = load_facts(write({"providers": {"deepseek": {"sources": [source]}}}))
        assert facts.sources("deepseek") == [source, *bundled_facts().sources("deepseek")]

    @pytest.mark.parametrize(("own", "shown"), [({"as_of": "2027-01-10"}, "2027-01-10"), ({}, AS_OF)])
    def test_date(self, own: dict[str, str], shown: str, write: Write) -> None:
        """The date is that of the file or, where it has none, that of the bundled facts; the label names both."""
        facts = load_facts(write({**own, "providers": {}}))
        assert (facts.as_of, facts.rules("vllm", "x").as_of) == (shown, shown)
        assert facts.label == MERGED

    def test_path_and_byte_order_mark(self, write: Write) -> None:
        """A path is taken as well as its text, and a byte order mark is no part of the JSON."""
        write(b'\xef\xbb\xbf{"providers": {}}')
        assert load_facts(Path("own.json")).as_of == AS_OF

    def test_ours_stay(self, write: Write) -> None:
        """The bundled facts stay as they are."""
        before = json.dumps(bundled_facts().data)
        load_facts(write({"providers": {"openai": {"defaults": {"minimum": 1}, "kinds": {"marked": {"marks": 1}}}}}))
        assert json.dumps(bundled_facts().data) == before


class TestWrong:
    """Facts that cannot be meant are refused, with the place and what would do."""

    @staticmethod
    def message(path: str) -> str:
        """Fail to load facts, and return what is said."""
        with pytest.raises(AssetError) as caught:
            load_facts(path)
        return str(caught.value)

    @pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG)
    def test_file(self, content: str | bytes, message: str, write: Write) -> None:
        """A file that holds no facts is an error that names it."""
        assert self.message(write(content)) == f"own.json: {message}"

    @pytest.mark.parametrize(("entry", "message"), WRONG_ENTRY.values(), ids=WRONG_ENTRY)
    def test_entry(self, entry: Any, message: str, write: Write) -> None:
        """A fact that is misspelt or of the wrong kind is an error that says where, and what there is."""
        said = self.message(write({"providers": {"anthropic": entry}}))
        expected = f"own.json: anthropic: {message}"
        assert said.startswith(expected) if message.endswith("there are: ") else said == expected

    @pytest.mark.parametrize(("providers", "message"), WRONG_LINKS.values(), ids=WRONG_LINKS)
    def test_links(self, providers: dict[str, Any], message: str, write: Write) -> None:
        """What points to nothing, or in a circle, is an error that shows the way."""
        assert self.message(write({"providers": providers})) == f"{MERGED}: {message}"

    @pytest.mark.parametrize(
        ("provider", "meant"), [("antropic", "anthropic"), ("Anthropic", "anthropic"), ("open-ai", "openai")]
    )
    def test_a_provider_that_is_nearly_one(self, provider: str, meant: str, write: Write) -> None:
        """Facts under a misspelt name would be nobody's; a new provider has a name of its own."""
        said = self.message(write({"providers": {provider: {"like": "anthropic"}}}))
        assert said == f"own.json: there is no provider {provider!r}; did you mean {meant!r}?"
        assert "mine" in load_facts(write({"providers": {"mine": {"like": "anthropic"}}})).providers()

    def test_all_faults_of_a_file_are_reported_together(self, write: Write) -> None:
        """The error names each with its place, so that a file can be corrected in one go."""
        anthropic = {"titel": "x", "defaults": {"marks": "four"}, "models": [{"minimun": 1}], "kinds": {"a": 3}}
        said = self.message(write({"as_of": "soon", "more": 1, "providers": {"anthropic": anthropic, "open-ai": 7}}))
        assert [fault.partition(";")[0] for fault in said.removeprefix("own.json: ").split("; own.json: ")] == [
            "'more' is not known",
            "as_of is a date such as 2026-11-15, not 'soon'",
            "anthropic: 'titel' is not known",
            "anthropic: models[0] needs names, a list of patterns",
            "anthropic: models[0]: 'minimun' is no rule",
            "anthropic: defaults: marks is a whole number, not 'four'",
            "anthropic: kind 'a' is an object of rules, not 3",
            "open-ai: expected an object, not 7",
            "there is no provider 'open-ai'",
        ]

    def test_all_links_that_lead_nowhere_are_reported_together(self, write: Write) -> None:
        """A fault that a provider inherits, and a circle that several lead into, are reported once."""
        own = {
            "a": {"like": "nobody", "routes": {"x": "none"}},
            "b": {"like": "a"},
            "c": {"like": "d"},
            "d": {"like": "c"},
            "e": {"like": "d"},
            "f": {"defaults": {"marks": 1}},
            "g": {"like": "f", "models": [{"names": ["m"], "like": "k"}]},
        }
        said = self.message(write({"providers": own}))
        assert [fault.partition(";")[0] for fault in said.removeprefix(f"{MERGED}: ").split(f"; {MERGED}: ")] == [
            "a: like 'nobody', which is no provider",
            "a: route 'x' leads to 'none'",
            "c: like goes in a circle: c -> d -> c",
            'f: defaults: marks need lifetimes, such as ["5m"]',
            "g: model m: like 'k'",
        ]

    def test_rules_that_are_none_are_not_offered(self, write: Write) -> None:
        """What a rule is made of, and no fact can set, is not among what there is."""
        said = self.message(write({"providers": {"anthropic": {"defaults": {"as_of": "x"}}}}))
        offered = said.partition("there are: ")[2].split(", ")
        assert not {"provider", "model", "as_of", "known", "names", "like"} & set(offered)

    @pytest.mark.parametrize(
        ("path", "message"),
        [("gone.json", "No such file or directory"), (".", "Is a directory"), ("", "No such file or directory")],
    )
    def test_no_file(self, path: str, message: str, write: Write) -> None:
        """A file that cannot be opened is an error that names it."""
        write("")
        assert self.message(path) == f"{path}: {message}"

    def test_too_large(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file beyond all bounds is refused, not cut and taken for broken."""
        monkeypatch.setattr("deepprompt.providers.facts._FILE_LIMIT", 20)
        assert load_facts(write('{"providers": {}}   ')).as_of == AS_OF
        assert self.message(write('{"providers": {}}    ')) == "own.json: larger than 20 bytes"

    def test_made_by_hand(self) -> None:
        """Facts that are no file are checked the same way, by their label."""
        with pytest.raises(AssetError, match=r"^mine: as_of is a date such as 2026-11-15, not None$"):
            Facts({"providers": {}}, "mine")


class TestDate:
    """The date of the facts stands wherever a rule is shown."""

    PROMPT = Prompt((Part("a", "Be brief.", Pace.RELEASE, "test"),))

    @pytest.mark.parametrize("to", deepprompt.providers.TARGETS)
    @pytest.mark.parametrize(("own", "date"), [("", AS_OF), ("2027-01-10", "2027-01-10")])
    def test_explain(self, own: str, date: str, to: Target, write: Write) -> None:
        """An explanation says of which date the facts are that it goes by."""
        facts = load_facts(write({"as_of": own, "providers": {}})) if own else None
        request = build_request(self.PROMPT, [{"role": "user", "content": "Hi"}], to=to, model="x", facts=facts)
        assert f"(facts of {date})" in request.explain().split("\n")[1]
        assert request.rules.as_of == date

    def test_notes(self) -> None:
        """A note on an unknown model, and one on too short a prefix, says of which date the facts are."""
        request = build_request(self.PROMPT, to="anthropic", model="claude-next")
        notes = [str(note) for note in request.notes if note.kind in ("model", "cache")]
        assert len(notes) == 2
        assert all(f"facts of {AS_OF}" in note for note in notes)
