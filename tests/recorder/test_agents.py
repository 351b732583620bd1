"""How commands are set up: by the dated table, by variables that are set already, and beside a proxy."""

from __future__ import annotations

import pytest

from deepprompt.errors import SourceError
from deepprompt.recorder.agents import known_agents, own_upstreams, reach_loopback, set_up, upstreams

HERE = "http://127.0.0.1:9/token"


def test_the_table() -> None:
    """A known agent gets its own variables and arguments, an unknown one those of every SDK."""
    codex = set_up(["/usr/bin/codex", "exec"], HERE)
    assert codex.agent == "codex"
    assert codex.arguments == ("-c", f'openai_base_url="{HERE}/openai/v1"')
    other = set_up(["python", "agent.py"], HERE)
    assert other.agent == ""
    assert other.environment["ANTHROPIC_BASE_URL"] == f"{HERE}/anthropic"
    assert set_up(["npx", "x"], HERE, "claude").environment["ENABLE_TOOL_SEARCH"] == "true"
    with pytest.raises(SourceError, match="no agent 'clod' in the table"):
        set_up(["x"], HERE, "clod")
    assert {"claude", "codex", "gemini"} <= set(known_agents())
    assert set(upstreams("https://gateway").values()) == {"https://gateway"}


def test_an_address_that_is_set_already() -> None:
    """A gateway in the user's own variables stays where requests go, and one that cannot be followed is told."""
    given = {"ANTHROPIC_BASE_URL": "https://gateway.example/a/", "OPENAI_BASE_URL": "https://other.example/v1"}
    assert own_upstreams(["claude"], given) == {"anthropic": "https://gateway.example/a"}
    assert own_upstreams(["python"], given) == {
        "anthropic": "https://gateway.example/a", "openai": "https://other.example",
    }  # fmt: skip
    assert own_upstreams(["claude"], {"ENABLE_TOOL_SEARCH": "false", "ANTHROPIC_BASE_URL": ""}) == {}
    with pytest.raises(SourceError, match=r"OPENAI_BASE_URL is 'https://x.example/api' already"):
        own_upstreams(["codex"], {"OPENAI_BASE_URL": "https://x.example/api"})
    with pytest.raises(SourceError, match=r"OPENAI_API_BASE is .* already"):
        own_upstreams(["python"], {"OPENAI_BASE_URL": "https://x/v1", "OPENAI_API_BASE": "https://y/v1"})


def test_beside_a_proxy() -> None:
    """Loopback is left out of whatever proxy is set, and nothing is set where there is none."""
    assert reach_loopback({"PATH": "/bin"}) == {}
    assert reach_loopback({"HTTPS_PROXY": "http://p"}) == {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    assert reach_loopback({"http_proxy": "http://p", "no_proxy": "corp"})["NO_PROXY"] == "corp,127.0.0.1"
