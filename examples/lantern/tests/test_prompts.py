"""Each prompt of Lantern is the one that was reviewed, byte for byte."""

from agent import desk, night, preset


def test_desk(prompt_snapshot):
    """The prompt for work with a museum's staff."""
    assert desk().static_prefix == prompt_snapshot


def test_night(prompt_snapshot):
    """The prompt of the nightly run."""
    assert night().static_prefix == prompt_snapshot


def test_tool(prompt_snapshot):
    """The definition of our own tool."""
    assert preset().tools(["PublishPage"]) == prompt_snapshot


def test_captions(prompt_snapshot):
    """The subagent that writes alternative texts."""
    assert preset().agent("captions").text == prompt_snapshot


def test_loan_changed(prompt_snapshot):
    """The reminder about objects on loan, without its tag."""
    _, *lines, _ = preset().reminder("loan_changed", path="sites/harbor/loans.toml").split("\n")
    assert "\n".join(lines) == prompt_snapshot
