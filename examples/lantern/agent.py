"""The prompts of Lantern, an agent that maintains the websites of small museums."""

from __future__ import annotations

from pathlib import Path

from deepprompt import Preset, Prompt, Surroundings, load_preset

HERE = Path(__file__).parent
TOOLS = ["Bash", "FileRead", "FileEdit", "Grep", "PublishPage"]
MUSEUMS = [
    {"NAME": "Harbor Museum", "FOLDER": "sites/harbor", "LANGUAGES": "English and Danish", "loans": True},
    {"NAME": "Clock Tower", "FOLDER": "sites/clock", "LANGUAGES": "English"},
]


def preset() -> Preset:
    """Lantern's own preset, from the folder beside this file."""
    return load_preset("lantern", HERE / "prompts")


def desk(around: Surroundings | None = None) -> Prompt:
    """The prompt for work with a museum's staff, who approve each call."""
    return preset().compose(
        around,
        tools=TOOLS,
        flags=["mode:ask", "season:open"],
        variables={"CURATOR": "the curator on duty"},
        lists={"museums": MUSEUMS},
    )


def night(around: Surroundings | None = None) -> Prompt:
    """The prompt for the nightly check of all links, which changes nothing and asks nobody."""
    return preset().compose(
        around,
        tools=TOOLS,
        flags=["mode:read-only", "headless", "season:closed"],
        variables={"CURATOR": "the curator on duty"},
        lists={"museums": MUSEUMS},
    )
