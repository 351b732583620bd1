"""The pytest plugin in a project of its own, which builds its prompts without deepprompt."""

from __future__ import annotations

import os
import re

import pytest

from tests.support.pages import read_blocks
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

DOCS = (ROOT / "docs" / "testing.md").read_text("utf-8")

PROMPTS = """
def system(mood="kind"):
    return f"# Rules\\n\\nBe {mood}.\\n\\n# Style\\nUse tabs.\\n"

def messages(text="Hi"):
    return [{"role": "user", "content": text}, {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}]

def body(**more):
    return {"model": "m", "system": system(), "messages": messages(), "temperature": 1, **more}
"""

TESTS = """
    from prompts import body, messages, system

    def test_text(prompt_snapshot):
        assert system() == prompt_snapshot

    def test_messages(prompt_snapshot):
        assert messages() == prompt_snapshot

    def test_body(prompt_snapshot):
        assert body() == prompt_snapshot
"""


# Plugins of ours that a user need not have, and that take long to load.
OTHERS = [option for name in ("xdist", "cov", "anyio", "hypothesispytest") for option in ("-p", f"no:{name}")]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a module of prompts, whose tests run alone, as on a machine that is nobody's."""
    named = ("CI", "BUILD_NUMBER", "PYTEST_PLUGINS", "NO_COLOR", "FORCE_COLOR")
    for name in (*named, *(name for name in os.environ if name.startswith("PYTEST_XDIST_"))):
        monkeypatch.delenv(name, raising=False)
    # Each by the name of its entry point: to load all that is installed takes longer than the tests.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(prompts=PROMPTS)
    return pytester


def run(
    project: pytest.Pytester, *options: str, plugins: tuple[str, ...] = ("syrupy", "deepprompt")
) -> pytest.RunResult:
    """Run the project's tests; its warnings are errors too."""
    loaded = [option for plugin in plugins for option in ("-p", plugin)]
    return project.runpytest_subprocess(*loaded, "-W", "error", *options)


def files(project: pytest.Pytester) -> dict[str, bytes]:
    """The project's snapshot files."""
    folder = project.path / "__snapshots__"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def explained(result: pytest.RunResult) -> list[str]:
    """What pytest says of failed assertions, without its margin."""
    lines = [line[1:].rstrip() for line in result.outlines if line.startswith("E  ")]
    # Whether pytest names the AssertionError depends on the quotes in the text.
    return [line[9:] if line.startswith("         ") else line.split(": ")[-1].strip() for line in lines]


def test_create_compare_update(project: pytest.Pytester) -> None:
    """A missing snapshot fails and says how to create it; one that is there is compared, and written only if asked."""
    project.makepyfile(test_it=TESTS)
    result = run(project)
    result.assert_outcomes(failed=3)
    assert explained(result)[1:9] == [
        "Snapshot 'test_text' does not exist!",
        "look at the value, then create its file with: pytest --snapshot-update",
        "+ # Rules",
        "+",
        "+ Be kind.",
        "+",
        "+ # Style",
        "and more: 37 bytes in all",
    ]
    assert files(project) == {}

    result = run(project, "--snapshot-update")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["3 snapshots generated."])
    text = b"# Rules\n\nBe kind.\n\n# Style\nUse tabs.\n"
    lines = [b'[0].role: "user"\n', b'[0].content: "Hi"\n', b'[1].role: "assistant"\n']
    lines += [b'[1].content[0].type: "text"\n', b'[1].content[0].text: "Hello."\n']
    system = b"system:\n| # Rules\n|\n| Be kind.\n|\n| # Style\n| Use tabs.\n|\n"
    messages = b"".join([b"messages" + line for line in lines])
    stored = {
        "test_it/test_text.txt": text,
        "test_it/test_messages.txt": b"".join(lines),
        "test_it/test_body.txt": b'model: "m"\n' + system + messages + b"temperature: 1\n",
    }
    assert files(project) == stored

    result = run(project)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["3 snapshots passed."])

    project.makepyfile(prompts=PROMPTS.replace("kind", "brief").replace("Hello.", "Hello.\u200b"))
    result = run(project, "-vv")
    result.assert_outcomes(failed=3)
    assert explained(result) == [
        "assert [+ received] == [- snapshot]",
        "first difference: byte 12, line 3, column 4, below # Rules",
        "@@ -1,5 +1,5 @@",
        "  # Rules",
        "",
        "- Be kind.",
        "+ Be brief.",
        "",
        "  # Style",
        "assert [+ received] == [- snapshot]",
        'first difference: byte 113, line 5, column 29, at [1].content[0].text; U+0022 (") became U+200B',
        "@@ -3,3 +3,3 @@",
        '  [1].role: "assistant"',
        '  [1].content[0].type: "text"',
        '- [1].content[0].text: "Hello."',
        '+ [1].content[0].text: "Hello.⟨U+200B⟩"',
        "assert [+ received] == [- snapshot]",
        "first difference: byte 36, line 5, column 6, at system, line 3 of it",
        "@@ -3,5 +3,5 @@",
        "  | # Rules",
        "  |",
        "- | Be kind.",
        "+ | Be brief.",
        "  |",
        "  | # Style",
        "@@ -12,4 +12,4 @@",
        '  messages[1].role: "assistant"',
        '  messages[1].content[0].type: "text"',
        '- messages[1].content[0].text: "Hello."',
        '+ messages[1].content[0].text: "Hello.⟨U+200B⟩"',
        "  temperature: 1",
    ]
    assert files(project) == stored

    run(project, "--snapshot-update").assert_outcomes(passed=3)
    assert files(project)["test_it/test_text.txt"] == text.replace(b"kind", b"brief")
    run(project).assert_outcomes(passed=3)


def test_the_first_lines_say_enough(project: pytest.Pytester) -> None:
    """In the lines that pytest shows without -vv, the first difference, the old and the new line are there."""
    text = r"'a\nb\n' + 'word ' * 99 + 'x' * 500 + '\nc\n'"
    test = f"def test_it(prompt_snapshot):\n    assert {text} == prompt_snapshot\n"
    project.makepyfile(test_it=test)
    run(project, "--snapshot-update").assert_outcomes(passed=1)
    project.makepyfile(test_it=test.replace("'x'", "'y'"))
    before, after = (f"⟨445 characters⟩{'word ' * 10}{letter * 15}" for letter in "xy")
    shown = explained(run(project))
    assert shown[1:5] == ["first difference: byte 499, line 3, column 496", "@@ -1,4 +1,4 @@", "  a", "  b"]
    assert shown[5].startswith(f"- {before}")
    assert shown[6].startswith(f"+ {after}")


def test_parameters_and_names(project: pytest.Pytester) -> None:
    """Each parameter, name and repeated comparison has a file of its own, even where no file can have that name."""
    project.makepyfile(
        test_it=f"""
        import pytest

        @pytest.mark.parametrize("model", ["a/b", "ab", "c.d", "a:b"])
        def test_model(model, prompt_snapshot):
            assert model == prompt_snapshot

        class TestIt:
            def test_several(self, prompt_snapshot):
                assert "one" == prompt_snapshot
                assert prompt_snapshot == "two"
                assert "three" == prompt_snapshot(name="three")
                assert "four" == prompt_snapshot(name="{"long" * 100}")
                assert "five" == prompt_snapshot(name="{"long" * 101}")
        """
    )
    run(project, "--snapshot-update").assert_outcomes(passed=5)
    long = f"test_it/TestIt.test_several[{'long' * 42}lon"
    assert files(project) == {
        "test_it/test_model[ab]-941f9ffc.txt": b"a/b",
        "test_it/test_model[ab].txt": b"ab",
        "test_it/test_model[c.d].txt": b"c.d",
        "test_it/test_model[ab]-11f95043.txt": b"a:b",
        "test_it/TestIt.test_several.txt": b"one",
        "test_it/TestIt.test_several.1.txt": b"two",
        "test_it/TestIt.test_several[three].txt": b"three",
        f"{long}-f354a828.txt": b"four",
        f"{long}-24489a00.txt": b"five",
    }
    run(project).assert_outcomes(passed=5)
    result = run(project, "-k", "c.d")
    result.assert_outcomes(passed=1, deselected=4)
    assert result.ret == 0


def test_unused_snapshots(project: pytest.Pytester) -> None:
    """A snapshot that no test uses fails the run, and only the flag deletes it."""
    project.makepyfile(test_it=TESTS)
    run(project, "--snapshot-update").assert_outcomes(passed=3)
    project.makepyfile(
        test_it=TESTS.replace("def test_text(prompt_snapshot)", "def test_text(prompt_snapshot=system())")
    )
    result = run(project)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["2 snapshots passed. 1 snapshot unused.", "*--snapshot-update to delete unused*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(files(project)) == 3
    assert run(project, "--snapshot-update").ret == 0
    assert set(files(project)) == {"test_it/test_messages.txt", "test_it/test_body.txt"}


def test_what_cannot_be_compared(project: pytest.Pytester) -> None:
    """The first line of the failure names the type and what is taken; nothing is written."""
    project.makepyfile(
        test_it="""
        def test_object(prompt_snapshot):
            assert object() == prompt_snapshot

        def test_nan(prompt_snapshot):
            assert {"temperature": float("nan")} == prompt_snapshot

        def test_surrogate(prompt_snapshot):
            assert [{"role": "user", "content": chr(0xD800)}] == prompt_snapshot

        def test_filter(prompt_snapshot):
            assert {"id": 1} == prompt_snapshot(exclude=lambda **_: True)
        """
    )
    result = run(project, "--snapshot-update")
    result.assert_outcomes(failed=4)
    prefix = "deepprompt.errors.MessageError: "
    assert [line.removeprefix(prefix) for line in explained(result) if line.startswith(prefix)] == [
        "cannot store object: a snapshot takes a string, bytes, a Prompt, a list of messages, a request body "
        "(a mapping) or a Request",
        "cannot store a number at temperature that JSON does not have: float nan",
        "cannot store a lone surrogate (U+D800, character 0 of [0].content): it has no UTF-8",
        "exact bytes take no include or exclude: replace what varies before you compare",
    ]
    assert "readable.py" not in result.stdout.str()
    assert files(project) == {}


def test_kinds_with_the_same_bytes(project: pytest.Pytester) -> None:
    """A string, its bytes and a prompt of that text match the same file, other bytes do not."""
    project.makepyfile(
        test_it="""
        from deepprompt import Pace, Part, Prompt

        def test_it(prompt_snapshot):
            prompt = Prompt([Part("base", "Grüße\\r\\n", Pace.RELEASE, "argument")])
            for value in ("Grüße\\r\\n", "Grüße\\r\\n".encode(), prompt):
                assert value == prompt_snapshot(name="same")
            assert not "Grüße\\n" == prompt_snapshot(name="same")
        """
    )
    folder = project.path / "__snapshots__" / "test_it"
    folder.mkdir(parents=True)
    (folder / "test_it[same].txt").write_bytes("Grüße\r\n".encode())
    run(project).assert_outcomes(passed=1)


def test_the_part_of_a_prompt_is_named(project: pytest.Pytester) -> None:
    """For a `Prompt` the failure names the part and its origin."""
    test = """
        from deepprompt import InstructionFile, SystemPromptBuilder

        def test_it(prompt_snapshot):
            builder = SystemPromptBuilder("Base.", [InstructionFile("AGENTS.md", "Be kind.\\nUse tabs.\\n")])
            assert builder.compose() == prompt_snapshot
    """
    project.makepyfile(test_it=test)
    run(project, "--snapshot-update").assert_outcomes(passed=1)
    project.makepyfile(test_it=test.replace("tabs", "blanks"))
    assert explained(run(project, "-vv"))[1].endswith(" (file:AGENTS.md, line 2)")


def test_a_prompt_is_never_run(project: pytest.Pytester) -> None:
    """Pytest takes test*.txt for doctests; a stored prompt that shows a Python session is not one."""
    project.makepyfile(test_it="def test_it(prompt_snapshot):\n    assert b'>>> 1 / 0\\n\\xff' == prompt_snapshot\n")
    run(project, "--snapshot-update").assert_outcomes(passed=1)
    run(project).assert_outcomes(passed=1)


def test_the_projects_own_snapshot_fixture(project: pytest.Pytester) -> None:
    """Syrupy's `snapshot` keeps its files beside ours, and a project may have another fixture of that name."""
    test = "def test_it(snapshot, prompt_snapshot):\n    assert [1] == snapshot\n    assert 'a' == prompt_snapshot\n"
    project.makepyfile(test_both=test)
    run(project, "--snapshot-update").assert_outcomes(passed=1)
    assert set(files(project)) == {"test_both.ambr", "test_both/test_it.txt"}
    result = run(project)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["2 snapshots passed."])
    project.makeconftest("import pytest\n\n@pytest.fixture\ndef snapshot():\n    return [1]\n")
    run(project, "--snapshot-warn-unused").assert_outcomes(passed=1)


@pytest.mark.parametrize("colours", [False, True])
def test_colours_as_syrupy_has_them(project: pytest.Pytester, colours: bool) -> None:
    """The lines have syrupy's colours where it has them, and none elsewhere."""
    project.makepyfile(test_it=TESTS)
    run(project, "--snapshot-update").assert_outcomes(passed=3)
    project.makepyfile(prompts=PROMPTS.replace("kind", "brief"))
    if colours:  # as in a terminal, which a test has none of
        project.makeconftest("def pytest_configure(config):\n    config.option.no_colors = False\n")
    shown = run(project, "-vv", "-k", "text").stdout.str()
    assert ("\x1b[48;5;225m\x1b[38;5;90m- Be kind.\x1b[0m" in shown) == colours
    assert ("\x1b" in shown) == colours


def test_without_syrupy(project: pytest.Pytester) -> None:
    """Who has no syrupy is told what to install, and who has it turned off is told that."""
    project.makepyfile(test_it="def test_it(prompt_snapshot):\n    pass\n")
    result = run(project, plugins=("deepprompt",))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["prompt_snapshot needs syrupy's plugin, which is not loaded: leave out -p no:syrupy, or add -p syrupy *"]
    )
    project.makeconftest("import sys\n\nsys.modules['syrupy'] = None\n")
    result = run(project, plugins=("deepprompt",))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([NEEDS_SYRUPY])


NEEDS_SYRUPY = "prompt_snapshot needs syrupy: pip install syrupy, or deepprompt[[]snapshot]"

# As if it were not installed: no finder of modules knows it.
WITHOUT_SYRUPY = """
import sys

import pytest

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] == "syrupy" else self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Without, sys.meta_path)
sys.exit(pytest.main(["-p", "deepprompt.testing", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("options", [[], ["--snapshot-update"]], ids=["comparing", "updating"])
def test_the_extra_was_forgotten(project: pytest.Pytester, options: list[str]) -> None:
    """Syrupy's own option, copied from a page, does not hide what is missing."""
    project.makepyfile(test_it="def test_it(prompt_snapshot):\n    pass\n", without=WITHOUT_SYRUPY)
    result = project.runpython_c(f"import sys; sys.argv[1:] = {options!r}; import without")
    result.stdout.fnmatch_lines([NEEDS_SYRUPY])
    assert result.ret == 1


def test_no_cost_when_unused(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed, the plugin is there; in a project that does not ask for it, it imports itself and nothing else."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    project.makepyfile(test_it="import sys\n\ndef test_it():\n    print('MODULES', *sys.modules)\n")
    loaded = []
    for options in ([], ["-p", "no:deepprompt"]):
        result = project.runpytest_subprocess(*OTHERS, "-s", "-p", "no:syrupy", *options)
        result.assert_outcomes(passed=1)
        loaded.append(set(re.findall(r"MODULES (.*)", result.stdout.str())[0].split()))
    assert loaded[0] - loaded[1] == {"deepprompt", "deepprompt.testing"}


def test_turned_off(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """With -p no:deepprompt other tests run as before, and there is no such fixture."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    project.makepyfile(test_it="def test_it():\n    pass\n\ndef test_other(prompt_snapshot):\n    pass\n")
    result = project.runpytest_subprocess(*OTHERS, "-p", "no:deepprompt")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*fixture 'prompt_snapshot' not found"])


def test_what_perturb_refuses_is_said_once(project: pytest.Pytester) -> None:
    """A target or an option that cannot be used fails the test with its message alone: no traceback, no second copy."""
    project.makepyfile(
        test_it="""
        def test_lambda(assert_prefix_stable):
            assert_prefix_stable(lambda: "Be kind.")

        def test_name(assert_prefix_stable):
            assert_prefix_stable("prompts:sistem")

        def test_skip(assert_prefix_stable):
            assert_prefix_stable("prompts:system", skip=["locle"])
        """
    )
    result = run(project, plugins=("deepprompt",))
    result.assert_outcomes(failed=3)
    said = str(result.stdout).partition("short test summary info")[0]
    assert "During handling" not in said
    assert "Traceback" not in said
    assert [said.count(text) for text in ("import a lambda", "no 'sistem'", "'locle'")] == [1, 1, 1]


def test_the_page(project: pytest.Pytester) -> None:
    """What docs/testing.md keeps elsewhere is no doctest either; a failure says where in a body it stands."""
    titled = {block.title: block.text for block in read_blocks(DOCS) if block.title}
    for name in ("prompts.py", "test_prompts.py", "conftest.py"):
        (project.path / name).write_text(titled[name], "utf-8")
    (project.path / "test_golden.py").write_text("def test_golden(golden):\n    assert '>>> 1 / 0' == golden\n")
    run(project, "--snapshot-update").assert_outcomes(passed=6)
    assert (project.path / "golden/test_golden/test_golden.txt").read_bytes() == b">>> 1 / 0"
    run(project).assert_outcomes(passed=6)

    prompts = project.path / "prompts.py"
    prompts.write_text(prompts.read_text("utf-8").replace("you edit", "you\u00a0edit"), "utf-8")
    result = run(project, "-vv")
    result.assert_outcomes(passed=1, failed=5)
    assert any("at system[0].text, line 5 of it" in line for line in explained(result))
