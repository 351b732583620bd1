"""Each prompt is the one that was reviewed, byte for byte, and the cached part of it stays what it is."""

from prompts import agent, first_request, triage


def test_agent(prompt_snapshot):
    """What the provider caches of the agent's prompt; what follows it changes with the turn."""
    assert agent().static_prefix == prompt_snapshot


def test_request(prompt_snapshot):
    """All of the first request but the prompt, which test_agent has: model, limits, marks, messages."""
    body = first_request()
    for block in body["system"]:
        block["text"] = f"({len(block['text'].encode())} bytes)"
    assert body == prompt_snapshot


def test_triage(prompt_snapshot, assert_prefix_stable):
    """The other prompt, and that it is the same tomorrow, in another folder, locale and process."""
    assert triage() == prompt_snapshot
    assert_prefix_stable(triage)
