"""Overrides: which text replaces a bundled part, and what is said when the bundled one has moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt.catalog import Catalog, bundled, from_folder, from_package
from deepprompt.errors import AssetError, DeepPromptError, PresetError
from deepprompt.prompt import Note, Pace, Prompt, sha256_hex
from deepprompt.systems.agents import agent_prompt, reminder
from deepprompt.systems.changes import OVERRIDES as TABLE
from deepprompt.systems.changes import override_of, recorded
from deepprompt.systems.preset import PromptAssemblyConfig, assemble_system_prompt, compose_system_prompt
from deepprompt.systems.presets import load_preset
from deepprompt.systems.rows import File
from tests.support.layout import lay_out

FAMILY, VERSION = "claude_code", "2.1.37"
FOLDER = f"{FAMILY}/{VERSION}"
GLOB = bundled().text(FAMILY, VERSION, "glob")
CONFIG = PromptAssemblyConfig(enabled_tools=("Glob",))
RECORDED = f'glob = "{sha256_hex(GLOB)}"\n'
STALE = f'glob = "{"0" * 64}"\n'
UNRECORDED = f"an override; {TABLE} does not say what it was written against"
MOVED = "an override of a text that has changed since; see 'deepprompt diff claude_code/glob --parts {root}'"


def own(root: Path, files: dict[str, str | bytes]) -> Catalog:
    """Return the catalogue of a folder of overrides."""
    return from_folder(lay_out(root, files))


def compose(catalog: Catalog, config: PromptAssemblyConfig = CONFIG) -> Prompt:
    """Compose with overrides."""
    return compose_system_prompt(config, overrides=catalog)


def kept(prompt: Prompt) -> list[Note]:
    """Return the notes on overrides."""
    return [note for note in prompt.notes if note.kind == "kept"]


def test_part_by_part(tmp_path: Path) -> None:
    """An override replaces its part alone, in its place and with its pace, and the origin says what won."""
    prompt = compose(own(tmp_path, {f"{FOLDER}/glob.md": "My globbing.\n", f"{FOLDER}/{TABLE}": RECORDED}))
    plain = compose_system_prompt(CONFIG)
    assert [part.name for part in prompt.parts] == [part.name for part in plain.parts]
    changed = {part.name: part for part in prompt.parts if part not in plain.parts}
    assert list(changed) == ["glob"]
    assert changed["glob"].text == "\n\nMy globbing."
    assert changed["glob"].pace is Pace.RELEASE
    assert changed["glob"].origin == f"{tmp_path}:{FOLDER}/glob.md"
    assert kept(prompt) == []


def test_a_part_that_is_out(tmp_path: Path) -> None:
    """An override of a part whose condition fails leaves nothing behind, and nothing is said of it."""
    catalog = own(tmp_path, {f"{FOLDER}/grep.md": "My searching.\n"})
    assert compose(catalog) == compose_system_prompt(CONFIG)


def test_a_part_that_goes_into_another(tmp_path: Path) -> None:
    """The security policy can be overridden too; its text stands where the bundled one stood, once, with variables."""
    prompt = compose(own(tmp_path, {f"{FOLDER}/security_policy.md": "My policy, ${CWD}.\n"}))
    assert prompt.text.count("\n\nMy policy, unknown.\n\n") == 1
    assert bundled().text(FAMILY, VERSION, "security_policy").strip() not in prompt.text


def test_variables(tmp_path: Path) -> None:
    """An override has the variables of the catalogue, and one that there is not is an error that names the part."""
    assert (
        "\n\nIn /srv.\n\n"
        in compose(
            own(tmp_path / "a", {f"{FOLDER}/glob.md": "In ${CWD}.\n"}),
            PromptAssemblyConfig(cwd="/srv", enabled_tools=["Glob"]),
        ).text
    )
    with pytest.raises(PresetError, match="part 'glob' needs a value for CWDIR; did you mean CWD"):
        compose(own(tmp_path / "b", {f"{FOLDER}/glob.md": "In ${CWDIR}.\n"}))


@pytest.mark.parametrize(
    ("table", "detail"),
    [
        pytest.param(RECORDED, None, id="recorded"),
        pytest.param(f'# mine\n\n  glob\t= "{sha256_hex(GLOB)}"  # why\n', None, id="with comments"),
        pytest.param(STALE, MOVED, id="moved"),
        pytest.param('grep = "0000"\n', UNRECORDED, id="another part"),
        pytest.param("", UNRECORDED, id="empty"),
        pytest.param(None, UNRECORDED, id="no table"),
    ],
)
def test_notes(table: str | None, detail: str | None, tmp_path: Path) -> None:
    """The build says when the bundled part is not the one that an override was written against, or unknown."""
    files: dict[str, str | bytes] = {f"{FOLDER}/glob.md": "Mine.\n"}
    if table is not None:
        files[f"{FOLDER}/{TABLE}"] = table
    prompt = compose(own(tmp_path, files))
    assert "\n\nMine.\n\n" in prompt.text
    assert kept(prompt) == (
        [Note("kept", f"{tmp_path}:{FOLDER}/glob.md", detail.format(root=tmp_path))] if detail else []
    )


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        (["2.1.37"], "2.1.37"),
        (["2.1.9", "2.1.37"], "2.1.37"),
        (["2.1.9"], "2.1.9"),
        (["2.1.9", "2.1.30"], "2.1.30"),
        (["2.1.30", "2.1.38"], "2.1.30"),
        (["2.1.37.post1"], None),
        (["2.1.38"], None),
        ([], None),
    ],
)
def test_version(versions: list[str], chosen: str | None, tmp_path: Path) -> None:
    """The wanted version's override is taken, or else the newest before it, never one for a later version."""
    files: dict[str, str | bytes] = {f"{FAMILY}/{version}/glob.md": version for version in versions}
    files["other/1.0/glob.md"] = "other"
    found = override_of(own(tmp_path, files), FAMILY, VERSION, "glob.md")
    assert (found and found.version) == chosen
    assert chosen is None or f"\n\n{chosen}\n\n" in compose(from_folder(tmp_path)).text


def test_a_newer_folder_without_the_part(tmp_path: Path) -> None:
    """A part that only an older folder overrides is still overridden, with that folder's record."""
    catalog = own(
        tmp_path,
        {f"{FAMILY}/2.1.9/glob.md": "Old.\n", f"{FAMILY}/2.1.9/{TABLE}": RECORDED, f"{FOLDER}/grep.md": "New.\n"},
    )
    prompt = compose(catalog)
    assert "\n\nOld.\n\n" in prompt.text
    assert kept(prompt) == []


def test_recorded(tmp_path: Path) -> None:
    """The digest of the text that an override was written against can be asked for."""
    catalog = own(tmp_path, {f"{FOLDER}/glob.md": "", f"{FOLDER}/{TABLE}": RECORDED})
    assert recorded(File(catalog, FAMILY, VERSION, "glob.md")) == sha256_hex(GLOB)
    assert recorded(File(catalog, FAMILY, VERSION, "grep.md")) is None
    assert recorded(File(catalog, FAMILY, "2.1.9", "glob.md")) is None


@pytest.mark.parametrize(
    ("text", "says"), [("glob = 5\n", "glob is the SHA-256 of a text, not 5"), ("glob\n", "not TOML")]
)
def test_a_wrong_record(text: str, says: str, tmp_path: Path) -> None:
    """A record that cannot be read is an error with its place, not an override that was never checked."""
    with pytest.raises(DeepPromptError, match=f"{FOLDER}/{TABLE}: {says}"):
        compose(own(tmp_path, {f"{FOLDER}/glob.md": "", f"{FOLDER}/{TABLE}": text}))


def test_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package of parts overrides like a folder."""
    lay_out(tmp_path, {"my_prompts/__init__.py": "", f"my_prompts/assets/{FOLDER}/glob.md": "Packaged.\n"})
    monkeypatch.syspath_prepend(str(tmp_path))
    prompt = compose(from_package("my_prompts"))
    assert [part.origin for part in prompt.parts if part.name == "glob"] == [f"my_prompts:{FOLDER}/glob.md"]
    assert "\n\nPackaged.\n\n" in prompt.text


def test_nothing_to_override(tmp_path: Path) -> None:
    """An empty folder changes nothing."""
    assert compose(from_folder(tmp_path)).text == assemble_system_prompt(CONFIG)


@pytest.mark.parametrize("name", ["globb", "tools/Globb", "agents/explor"])
def test_unknown_part(name: str, tmp_path: Path) -> None:
    """A part that the catalogue does not have overrides nothing: an error names it and lists close matches."""
    with pytest.raises(PresetError, match=f"{name}.*{name[:-1]}"):
        compose(own(tmp_path, {f"{FOLDER}/{name}.md": "Mine.\n"}))


def test_every_unknown_part_is_named(tmp_path: Path) -> None:
    """All overrides of nothing are in one error."""
    with pytest.raises(PresetError) as caught:
        compose(own(tmp_path, {f"{FOLDER}/globb.md": "Mine.\n", f"{FOLDER}/tools/Globb.md": "Mine.\n"}))
    named = [f"{tmp_path}:{FOLDER}/{name}.md overrides nothing: " for name in ("globb", "tools/Globb")]
    assert [str(caught.value).count(name) for name in named] == [1, 1]


def test_tool_description(tmp_path: Path) -> None:
    """A tool's description can be overridden like any other part."""
    prompt = compose(own(tmp_path, {f"{FOLDER}/tools/Glob.md": "My tool.\n"}))
    assert [tool["description"] for tool in prompt.tools] == ["My tool."]


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfA.\r\nB.\r\n", b"A.\rB.\r"])
def test_windows(data: bytes, tmp_path: Path) -> None:
    """An override from a Windows checkout gives the same bytes as from any other."""
    assert "\n\nA.\nB.\n\n" in compose(own(tmp_path, {f"{FOLDER}/glob.md": data})).text


def test_not_utf8(tmp_path: Path) -> None:
    """An override that is not UTF-8 is refused, with the place."""
    with pytest.raises(AssetError) as caught:
        compose(own(tmp_path, {f"{FOLDER}/glob.md": b"ab\xff"}))
    assert str(caught.value) == f"{tmp_path}: {FOLDER}/glob.md: not UTF-8 at byte 2"


def test_wrong_hash(tmp_path: Path) -> None:
    """An override that is not what its own manifest says is refused."""
    catalog = own(tmp_path, {f"{FOLDER}/glob.md": "Mine.\n", "MANIFEST": f"{'0' * 64} 6 {FOLDER}/glob.md\n"})
    with pytest.raises(AssetError, match=f"{FOLDER}/glob.md was altered: its SHA-256 is "):
        compose(catalog)


def test_link_out(tmp_path: Path) -> None:
    """An override that is a link out of the folder is refused."""
    lay_out(tmp_path, {"secret": "secret", f"parts/{FOLDER}/grep.md": ""})
    (tmp_path / f"parts/{FOLDER}/glob.md").symlink_to(tmp_path / "secret")
    with pytest.raises(AssetError, match="leads out of its root"):
        compose(from_folder(tmp_path / "parts"))


def test_no_version(tmp_path: Path) -> None:
    """A folder whose name is no version is an error that says how to name it."""
    with pytest.raises(AssetError) as caught:
        compose(own(tmp_path, {f"{FAMILY}/latest/glob.md": "Mine.\n"}))
    assert str(caught.value) == (
        f"{tmp_path}: claude_code: 'latest' is not a version; name the folder as PEP 440 has it, such as 1.0.0"
    )


def test_agents_and_reminders(tmp_path: Path) -> None:
    """An agent's prompt and a reminder are taken from the overrides where they have them, variables and all."""
    catalog = own(
        tmp_path,
        {f"{FOLDER}/agents/explore.md": "Look around.\n", f"{FOLDER}/reminders/date_changed.md": "Now ${DATE}.\n"},
    )
    assert agent_prompt("explore", catalog) == "Look around."
    assert agent_prompt("task", catalog) == agent_prompt("task")
    assert reminder("date_changed", catalog, date="Monday") == "<system-reminder>\nNow Monday.\n</system-reminder>"
    assert "Now Monday." not in reminder("date_changed", date="Monday")


def test_an_override_of_an_extended_version(tmp_path: Path) -> None:
    """A part of 2.1.37 that is replaced serves 2.1.37.post1 too, which extends it, and has not changed for that."""
    lay_out(tmp_path, {f"{FOLDER}/glob.md": "Mine.\n", f"{FOLDER}/{TABLE}": RECORDED})
    prompt = load_preset("claude_code@2.1.37.post1", tmp_path).compose(tools=["Glob"])
    assert "\n\nMine.\n\n" in prompt.text
    assert [note for note in prompt.notes if "glob" in note.source] == []
