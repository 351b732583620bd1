"""Write docs/requires.md: what a host must provide for each text of the bundled presets.

Run it after adding a version of a preset: `python scripts/write_requires.py`. A test checks that it is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from deepprompt import load_preset  # noqa: E402
from deepprompt.systems.presets import Preset, preset_names  # noqa: E402
from deepprompt.systems.requires import REQUIREMENTS  # noqa: E402

PAGE = ROOT / "docs" / "requires.md"
HEAD = """\
# What your runtime must do

deepprompt writes text; your *runtime* runs the agent. A prompt that says "a runtime note says when the command ends" is
true only if your runtime sends that note. So each part, tool, agent and reminder of a preset can list what it needs in
`requires`, with the words below. `scripts/write_requires.py` writes this page from the presets.

Tell `compose` what your runtime provides. If the prompt needs more, you get a note of kind `requires` for each missing
feature:

```python
from deepprompt import load_preset

coder = load_preset("coder")
prompt = coder.compose(tools=["Bash"], provides=["shell", "background", "files"])
print([str(note) for note in prompt.notes if note.kind == "requires"])
```

Without `provides`, nothing is checked. A misspelled word is an error. To add your own words, use the table `[requires]`
in your `preset.toml`.

## The words

| word | your runtime |
|---|---|
"""


def page() -> str:
    """Return the page."""
    lines = [f"| `{word}` | {meaning} |" for word, meaning in REQUIREMENTS.items()]
    for family in preset_names():
        preset = load_preset(family)
        if rows := _rows(preset):
            lines += ["", f"## {preset.name}", "", "| text | needs |", "|---|---|", *rows]
    return HEAD + "\n".join(lines) + "\n"


def _rows(preset: Preset) -> list[str]:
    """Return a line for each text of a preset that needs something."""
    found = [(f"part `{row.name}`", row.requires) for row in preset.rows]
    found += [(f"tool `{name}`", tool.requires) for name, tool in preset.own_tools.items()]
    found += [(f"agent `{name}`", agent.requires) for name, agent in preset.own_agents.items()]
    found += [(f"reminder `{name}`", each.requires) for name, each in preset.own_reminders.items()]
    return [f"| {what} | {', '.join(f'`{word}`' for word in words)} |" for what, words in found if words]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
