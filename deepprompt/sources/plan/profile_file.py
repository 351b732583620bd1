"""Read a profile from its TOML file: a bundled one of `assets/profiles/`, or your own, which may extend another."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from deepprompt.errors import SourceError
from deepprompt.manifest import MANIFEST, bundled_table, parse_manifest, read_bundled
from deepprompt.sources.files import path_text, read_named, reason_of, shown_path
from deepprompt.sources.plan.profile import (
    AT,
    KINDS,
    ONE_FENCE,
    SKIP,
    STRIP,
    Group,
    Imports,
    Limit,
    Profile,
    SkillFolder,
    SkillRules,
    Slot,
    Touch,
)
from deepprompt.text.fields import Fields
from deepprompt.text.parse import MOST_TOML, parse_toml
from deepprompt.text.suggest import did_you_mean

FOLDER = "profiles/2026.11.17/"
SUFFIX = ".toml"
_MOST_EXTENDED = 4


@cache
def profile_names() -> tuple[str, ...]:
    """Return the names of the bundled profiles, sorted."""
    paths = parse_manifest(read_bundled(MANIFEST).decode(), "deepprompt")
    return tuple(sorted(path[len(FOLDER) : -len(SUFFIX)] for path in paths if path.startswith(FOLDER)))


@cache
def _bundled(name: str) -> Profile:
    return read_profile(parse_toml(bundled_table(FOLDER + name + SUFFIX).encode(), name), name)


def load_profile(name: str | os.PathLike[str]) -> Profile:
    """Return a bundled profile by its name, or your own by the path of its TOML file."""
    text = path_text(name, "profile", "the name of a profile, or the path of your own")
    if not text.endswith(SUFFIX):
        if text not in profile_names():
            hint = did_you_mean(text, list(profile_names()))
            raise SourceError(f"no profile {text!r:.60}; {hint}; your own is the path of a {SUFFIX} file")
        return _bundled(text)
    return read_profile(_own_tables(text), shown_path(text))


def _own_tables(path: str, depth: int = 0) -> dict[str, Any]:
    """Return the tables of a user's profile, on top of those that it extends."""
    shown = shown_path(path)
    try:
        tables = parse_toml(read_named(path, MOST_TOML), shown)
    except (OSError, ValueError) as error:
        raise SourceError(f"profile {shown}: {reason_of(error)}") from None
    base = tables.pop("extends", "")
    if not base:
        return tables
    if not isinstance(base, str) or depth >= _MOST_EXTENDED:
        raise SourceError(f"profile {shown}: extends: expected the name or path of a profile, {_MOST_EXTENDED} at most")
    if base.endswith(SUFFIX):
        below = _own_tables(os.path.join(os.path.dirname(path), base), depth + 1)
    elif base in profile_names():
        below = parse_toml(bundled_table(FOLDER + base + SUFFIX).encode(), base)
    else:
        raise SourceError(
            f"profile {shown}: extends: no profile {base!r:.60}; {did_you_mean(base, list(profile_names()))}"
        )
    return {**below, **tables}


def read_profile(tables: dict[str, Any], name: str) -> Profile:
    """Return the profile in the tables of a TOML file. Everything that is wrong with them is one error."""
    top = Fields(tables, "", "table")
    walk = top.inner("walk")
    text = top.inner("text")
    profile = Profile(
        name=name,
        agent=top.text("agent"),
        version=top.text("version"),
        recorded=top.text("recorded"),
        groups=tuple(_group(each) for each in top.each("groups")),
        markers=walk.texts("markers"),
        unmarked=_word(walk, "unmarked", "cwd", "top"),
        above=_whole(walk, "above", least=-1),
        folders=_word(walk, "folders", "all", "ends"),
        order=_word(walk, "order", "root first", "leaf first", "ends first", "by path"),
        trim=_word(text, "trim", "", "all", "global"),
        dedupe=_word(text, "dedupe", "", "real path", "file", "text", "text in folder", "name"),
        invalid=_word(text, "invalid", "replace", "skip", "fail"),
        linked=text.texts("linked"),
        exclude=top.texts("exclude"),
        limit=_limit(top.inner("limit")),
        imports=_imports(top.inner("imports")) if "imports" in tables else None,
        touch=_touch(top.inner("touch")) if "touch" in tables else None,
        skills=_skills(top.inner("skills")) if "skills" in tables else None,
        guard=top.texts("guard"),
    )
    top.require("groups")
    for fields, what in ((walk, "field of walk"), (text, "field of text"), (top, "table of a profile")):
        fields.refuse_others(what)
    top.refuse_faults(f"profile {name}")
    return profile


def _group(fields: Fields) -> Group:
    at = _word(fields, "at", *AT)
    fields.require("at", "files")
    group = Group(at, tuple(_slot(each, at) for each in fields.each("files")), fields.texts("unless"))
    fields.refuse_others("field of a group")
    return group


def _slot(fields: Fields, at: str) -> Slot:
    names = fields.texts("names", _check_name)
    if not names:
        fields.fault("names", "expected at least one name, such as AGENTS.md")
    if any("*" in name for name in names) and len(names) > 1:
        fields.fault("names", "a pattern with * stands alone; use one entry of files for each")
    slot = Slot(
        names,
        _word(fields, "kind", "global" if at == "home" else "project", *KINDS),
        _word(fields, "pick", "first", "filled", "walk"),
        fields.flag("any_case"),
        fields.text("globs"),
        fields.text("words"),
        fields.texts("always"),
        _words(fields, "strip", STRIP, ()),
    )
    fields.refuse_others("field of a file")
    return slot


def _check_name(name: str) -> None:
    """Refuse a name that could lead out of its folder: a profile may come from a repository."""
    if not name or name.startswith(("/", "~")) or "\\" in name or "\0" in name or {"", ".", ".."} & {*name.split("/")}:
        raise SourceError(f"{name!r:.60} is no path below a folder, such as AGENTS.md or .claude/CLAUDE.md")


def _limit(fields: Fields) -> Limit:
    limit = Limit(
        _whole(fields, "per_file"),
        _whole(fields, "total"),
        _whole(fields, "largest"),
        _word(fields, "spend", "in order", "last first", "drop first"),
        _words(fields, "kinds", (*KINDS, "import"), ()),
        _word(fields, "cut", "line", "marker"),
    )
    fields.refuse_others("field of limit")
    return limit


def _imports(fields: Fields) -> Imports:
    imports = Imports(
        _word(fields, "place", "inline", "beside", "after"),
        _whole(fields, "depth", 5),
        fields.text("before"),
        fields.flag("punctuation"),
        fields.flag("letters"),
        fields.flag("escapes"),
        _words(fields, "skip", (*SKIP, ONE_FENCE), SKIP),
        _word(fields, "repeat", "chain", "never", "always"),
        fields.flag("outside"),
        fields.flag("home"),
        fields.flag("links"),
        fields.flag("alone"),
    )
    fields.refuse_others("field of imports")
    return imports


def _touch(fields: Fields) -> Touch:
    touch = Touch(
        _word(fields, "folders", "none", "root first", "leaf first"),
        fields.flag("imports", True),
        _word(fields, "rules", "last", "first"),
    )
    fields.refuse_others("field of touch")
    return touch


def _skills(fields: Fields) -> SkillRules:
    rules = SkillRules(
        folders=tuple(_skill_folder(each) for each in fields.each("folders")),
        duplicates=_word(fields, "duplicates", "first", "last", "both"),
        depth=_whole(fields, "depth", 1, 1),
        hidden=fields.flag("hidden"),
        any_case=fields.flag("any_case"),
        links=fields.flag("links", True),
        flat=fields.flag("flat"),
        stubs=fields.flag("stubs"),
        name=_word(fields, "name", "either", "front", "folder"),
        names=_word(fields, "names", "any", "plain", "folder", "hyphens"),
        name_limit=_whole(fields, "name_limit"),
        description=_word(fields, "description", "needed", "body", "empty"),
        description_limit=_whole(fields, "description_limit", 1_024, 1),
        over=_word(fields, "over", "cut", "skip"),
        front_matter=fields.flag("front_matter", True),
        yaml=_word(fields, "yaml", "lenient", "strict"),
        bom=fields.flag("bom", True),
        invalid=_word(fields, "invalid", "replace", "skip", "fail"),
        hide=fields.texts("hide"),
        budget=_whole(fields, "budget", 16_384, 1),
    )
    fields.require("folders")
    fields.refuse_others("field of skills")
    return rules


def _skill_folder(fields: Fields) -> SkillFolder:
    folder = SkillFolder(_word(fields, "at", *AT[:-1]), fields.texts("paths", _check_name))
    if not folder.paths:
        fields.fault("paths", "expected at least one folder, such as .agents/skills")
    fields.refuse_others("field of a folder")
    return folder


def _word(fields: Fields, key: str, *words: str) -> str:
    """Return one of some words, the first of them by default."""
    word = fields.text(key, words[0])
    if word not in words:
        fields.fault(key, f"no such word: {word!r:.40}; {did_you_mean(word, sorted({*words} - {''}))}")
        return words[0]
    return word


def _words(fields: Fields, key: str, words: tuple[str, ...], default: tuple[str, ...]) -> tuple[str, ...]:
    def check(word: str) -> None:
        if word not in words:
            raise SourceError(f"no such word: {word!r:.40}; {did_you_mean(word, list(words))}")

    found = fields.texts(key, check)
    return found if key in fields.values else default


def _whole(fields: Fields, key: str, default: int = 0, least: int = 0) -> int:
    number: int = fields.get(key, (int,), "a whole number", default)
    if number < least:
        fields.fault(key, f"expected {least} or more, found {number}")
    return number
