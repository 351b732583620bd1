"""The Agent Skills specification (agentskills.io, August 2026): a skill's fields, and what is wrong with them."""

from __future__ import annotations

import re

from deepprompt.sources.front_matter import parse, split

NAME_LIMIT = 64
DESCRIPTION_LIMIT = 1_024
COMPATIBILITY_LIMIT = 500

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TOOL = re.compile(r"(?:[^\s,()]|\([^()]*\)?)+")


def faults(front: dict[str, object] | None, folder: str) -> tuple[str, ...]:
    """Return what is wrong with a skill's front matter, as sentences without a full stop; nothing if all is right."""
    if front is None:
        return ("it has no front matter with name and description",)
    found = [*_name_faults(front.get("name"), folder), *_description_faults(front.get("description"))]
    compatibility, metadata = front.get("compatibility"), front.get("metadata")
    if compatibility is not None and not (
        isinstance(compatibility, str) and 1 <= len(compatibility) <= COMPATIBILITY_LIMIT
    ):
        found.append(f"compatibility is not a text of 1 to {COMPATIBILITY_LIMIT} characters")
    if metadata is not None and not (
        isinstance(metadata, dict) and all(isinstance(text, str) for pair in metadata.items() for text in pair)
    ):
        found.append("metadata is not a table of texts")
    for key in ("license", "allowed-tools"):
        if key in front and not isinstance(front[key], str):
            found.append(f"{key} is not a text" + ("; tools are separated by spaces" if key == "allowed-tools" else ""))
    if isinstance(tools := front.get("allowed-tools"), str) and "," in re.sub(r"\([^()]*\)", "", tools):
        found.append("allowed-tools are separated by commas; the specification has spaces")
    return tuple(found)


def text_faults(text: str, folder: str) -> tuple[str, ...]:
    """Return what is wrong with the text of a skill's file."""
    front, body = split(text)
    parsed = parse(front) if front is not None else None
    if front is not None and parsed is None:
        return ("its front matter is not YAML; quote values with a colon in them",)
    found = faults({str(key): value for key, value in parsed.items()} if parsed is not None else None, folder)
    return found if body.strip() else (*found, "it has no text after the front matter")


def _name_faults(name: object, folder: str) -> list[str]:
    if not isinstance(name, str) or not name.strip():
        return ["name is missing"]
    found = []
    if len(name) > NAME_LIMIT:
        found.append(f"name has {len(name)} characters; {NAME_LIMIT} are allowed")
    if not _NAME.fullmatch(name):
        found.append("name may have a-z, 0-9 and single hyphens between them")
    if name != folder:
        found.append("name is not the name of its folder")
    return found


def _description_faults(description: object) -> list[str]:
    if not isinstance(description, str) or not description.strip():
        return ["description is missing"]
    if len(description.strip()) > DESCRIPTION_LIMIT:
        return [f"description has {len(description.strip()):,} characters; {DESCRIPTION_LIMIT:,} are allowed"]
    return []


def tool_names(value: object) -> list[str]:
    """Return the tools of `allowed-tools`: by spaces as the specification has it, or by commas, or a list."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str) and item.strip()]
    return _TOOL.findall(value) if isinstance(value, str) else []
