"""benchmarks/agents.py: a program of our own stands for an agent that edits its prompt and resumes."""

from __future__ import annotations

import sys

import pytest

from benchmarks import agents
from benchmarks.agent_programs import AGENTS, PROBE, Agent

# It renders AGENTS.md into the system prompt, names its folder, and keeps its conversation in the home folder.
PROGRAM = """
import json, os, sys, urllib.request
url, message, resumed = sys.argv[1:]
kept = os.path.expanduser("~/talk.json")
talk = json.load(open(kept)) if resumed == "yes" else []
talk.append({"role": "user", "content": message})
system = "You are careful. " * 40 + open("AGENTS.md").read() + os.getcwd()
body = {"model": "stub", "tools": [{"name": "read", "input_schema": {}}], "system": system, "messages": talk}
title = {"model": "stub", "system": "A title for " + message, "messages": [{"role": "user", "content": message}]}
for one in (body, title):
    request = urllib.request.Request(url + "/v1/messages", json.dumps(one).encode())
    urllib.request.urlopen(request).read()
json.dump([*talk, {"role": "assistant", "content": "done"}], open(kept, "w"))
"""


def test_a_program_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three later requests, one of them broken by the edited rules; another folder breaks at its path."""
    command = (sys.executable, "-c", PROGRAM, "{url}", PROBE)
    monkeypatch.setitem(AGENTS, "ours", Agent((*command, "no"), resumed=(*command, "yes")))
    monkeypatch.setattr(agents, "FAKETIME", "/does/not/exist")
    row = agents.measure("ours", [])
    assert (row.failed, row.requests, row.extended) == ("", 3, 2)
    assert row.breaks == ["inserted at system"]
    assert 0.8 < row.kept < 1
    assert row.elsewhere.endswith("(path at system)")
    assert row.later == "?"
