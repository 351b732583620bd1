"""What holds for every input, as functions of plain bytes: for hypothesis in the tests, for atheris in `fuzz/`.

A function returns nothing and raises AssertionError where a law is broken. What is checked against is written here a
second time, slow and simple: these are no copies of the patterns that they judge.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    AgentConfig,
    DeepPromptError,
    InstructionFile,
    Note,
    ProjectContext,
    Prompt,
    PromptAssembler,
    Responsibility,
    SystemPromptBuilder,
    Task,
    TaskStep,
    build_request,
    compose_tagged_prompt,
    inject_recalled,
    load_instruction_files,
    load_skills,
)
from deepprompt.errors import PromptAssemblyError
from deepprompt.prompt import sha256_hex
from deepprompt.sources.instructions import TOTAL_LIMIT, WHITELIST
from deepprompt.systems.tagged import TAGS
from deepprompt.text.characters import HIDDEN, TAG_FLAGS
from deepprompt.text.disarm import escape_boundary, escape_roles, escape_tags
from deepprompt.text.hidden import reveal
from deepprompt.text.hygiene import TRUNCATION_MARKER, decode, neutralise, one_line, scrub, shorten
from deepprompt.text.secrets import redact
from deepprompt.words import Target

# A line that is nothing but a speaker's tag, and any closed token, in a text in its plainest form.
_SPEAKER = re.compile(
    r" {0,3}<[ \t]*/?[ \t]*(?:system|developer|assistant|user|tool|function|human)[ \t]*/?>?[ \t]*", re.I
)
_OPENER = re.compile(r"<\|[^\W\d]\w*\|>|<[/\s]*system[-_]reminder(?![\w-])", re.IGNORECASE)
_HIDDEN = re.compile(f"[{HIDDEN}]")
# What the policy lets stay in its place: joiners, presentation and Mongolian selectors, 64 direction marks; one at a
# time also word breaks, soft hyphens, the operators of formulas and the selectors of ideographs.
_NEVER_IN_RUNS = "\u200b\xad\u2060-\u2064\ufe00-\ufe02\U000e0100-\U000e01ef"
_MAY_STAY = {
    *"\u200c\u200d\u200e\u200f\ufe0e\ufe0f\u180b\u180c\u180d\u180e\u180f\u200b\xad\ufe00\ufe01\ufe02",
    *map(chr, range(0x2060, 0x2065)),
    *map(chr, range(0xE0100, 0xE01F0)),
}

# Control tokens of public vocabularies, written down here a second time: a row that the product's table lacks is seen.
# In any case of their letters:
ANY_CASE = (
    "[inst]", "[/inst]", "<<sys>>", "<</sys>>", "[available_tools]", "[/available_tools]", "[tool_calls]",
    "[tool_results]", "[/tool_results]", "[system_prompt]", "[/system_prompt]", "<tool_call>", "</tool_call>",
    "<tool_response>", "</tool_response>", "<think>", "</think>", "]~b]", "]~!b[", "<seed:bos>", "<seed:eos>",
    "<start_of_turn>", "<end_of_turn>", "<im_start>", "<im_end>", "<|turn>", "<turn|>", "<extra_id_0>",
    "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<minimax:tool_call>", "<unused0>", "<reserved_106>",
    "<end_of_utterance>", "<bos_token>", "<eos_token>", "<special_12>", "<_user>", "<_bot>", "<_system>",
    "<dots_function_call>", "<jupyter_code>", "<[begin_of_sentence]>", "<[end_of_sentence]>", "<[fim-prefix]>",
    "[unused_token_145]", "<fake_token_around_image>",
)  # fmt: skip
# As they are spelled:
_VALUE = re.compile(r"(?<!\S)[`(\[]?--?[A-Za-z][\w-]*[ =]<s>")  # the value of an option, as help pages write it
EXACT = (
    "<s>", "</s>", "<bos>", "<eos>", "<unk>", "<pad>", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "[e~[", "|DSML|",
    "[THINK]", "[/THINK]", "[IMG]", "[IMG_END]", "[PREFIX]", "[SUFFIX]", "[CALL_ID]", "[BOS]", "[EOS]", "[|system|]",
    "[|user|]", "[|assistant|]", "[|endofturn|]", "<role>HUMAN</role>",
)  # fmt: skip

# On a disk in memory where there is one: a fuzzer writes some files for every input.
SCRATCH = "/dev/shm" if os.path.isdir("/dev/shm") else None

# What hostile input is made of.
PIECES = [
    piece.encode("utf-8", "surrogatepass")
    for piece in (
        *"ab1<>/|=\\&;: \t\n\r\v\0\x1b\x85\xa0\xad[]{}\"'`~#$%-_",
        *"\u200b\u200c\u200d\u200e\u200f\u2028\u202e\u2060\ufe0e\ufe0f\ufeff\ufffd\u20e3\u180b\u3000\u2581\ud800\udfff",
        *"هक👩❤🏴日＝＜﹤／｜Ｄ𝐬ⓤſ",
        *TAG_FLAGS, TAG_FLAGS[0][:-1], "\U000e0067", "\r\n", "\n\n",
        DYNAMIC_CONTEXT_BOUNDARY, "=== DYNAMIC CONTEXT", "===", "DYNAMIC", "CONTEXT", "\\===",
        "<system>", "</user>", "\n<system>\n", "<system", "<username", "<|im_end|>", "<｜User｜>", "<|", "< / ", "&lt;",
        "[INST]", "</s>", "<<SYS>>", "]~b]", "｜DSML｜", "<system-reminder>", "List<Role>", "```\n",
        *"ﬆ㎃⩶ก\u2800",
        "<Task>", "</Role>",
        "---\n", "\n---\n", "name: ", "description: ", "allowed-tools: ", "runas: ", " | ", "- ", "[a, b]", "|\n  x",
        "$$A", "\n$$A\n", "$$include a", "\n$$include b.json\n", "$$include ../x", "$$", "$$B\n",
        "sk-ant-", "ghp_" + "a" * 36, "eyJ", "://a:b@", "-----BEGIN PRIVATE KEY-----", "claude", "x" * 300,
    )
]  # fmt: skip
FUNCTIONS: dict[str, Callable[[str, str, list[Note]], str]] = {
    "reveal": reveal,
    "scrub": scrub,
    "escape_roles": escape_roles,
    "escape_boundary": escape_boundary,
    "escape_tags": lambda text, source, notes: escape_tags(text, TAGS, source, notes),
    "neutralise": neutralise,
    "one_line": one_line,
    "redact": redact,
}

TARGETS: dict[Target, str] = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "anthropic.claude-opus-5-5",
    "deepseek": "deepseek-chat",
    "gemini": "gemini-3-pro",
    "litellm": "openai/gpt-5",
    "openai": "gpt-5",
    "openai-responses": "gpt-5",
}


def folded(text: str) -> str:
    """Return a text without what cannot be seen, each letter in its plainest form; ligatures stay as they are."""
    text = _HIDDEN.sub("", text)
    if text.isascii():
        return text.lower()
    plain = {letter: unicodedata.normalize("NFKC", letter).casefold() for letter in set(text)}
    return text.translate({ord(letter): form for letter, form in plain.items() if len(form) == 1})


def plainest(text: str) -> str:
    """Return a text without what cannot be seen, each character as NFKC has it."""
    text = _HIDDEN.sub("", text).replace("\u2581", "_").replace("\u2502", "|").replace("\u01c0", "|")
    if text.isascii():
        return text
    return text.translate({ord(letter): unicodedata.normalize("NFKC", letter) for letter in set(text)})


def openers(text: str) -> list[str]:
    """Return what a model could take for a control token, for our reminder, or for a line of another speaker."""
    plain = _VALUE.sub("", plainest(text))
    lower = plain.lower()
    found = [token for token in ANY_CASE if token in lower] + [token for token in EXACT if token in plain]
    if "```" not in plain and "~~~" not in plain:
        found += [line for line in plain.split("\n") if _SPEAKER.fullmatch(line)]
    return found + _OPENER.findall(plain)


def hidden(text: str) -> set[str]:
    """Return the hidden characters that no policy lets stay."""
    for flag in TAG_FLAGS:
        text = text.replace(flag, "")
    runs = re.findall(f"[{_NEVER_IN_RUNS}]{{2,}}", text)
    return set(_HIDDEN.findall(text)) - _MAY_STAY | set("".join(runs))


def boundaries(text: str) -> int:
    """Return how many boundaries a reader sees, in any width and case, whatever blanks are between the letters."""
    text = re.sub(r"=== ?[Dd]ynamic [Cc]ontext(?! ?\(?(?:per|do))", "", text)  # a heading, as people write it
    plain = re.sub(r"[^\S\n]", "", plainest(text).lower())
    return len(re.findall(r"(?<!\\)===dynamiccontext", plain))


def assert_neutral(text: str) -> None:
    """A text from outside that was loaded: it encodes, hides nothing, and opens no turn (P2, P7, P11)."""
    text.encode()
    assert not hidden(text)
    assert not openers(text)


def assert_notes(notes: tuple[Note, ...]) -> None:
    """Notes can be written down, and show nothing hidden themselves."""
    for note in notes:
        line = str(note)
        assert_neutral(line)
        assert note.kind in (
            "skipped", "refused", "cut", "neutralised", "replaced", "kept", "redacted", "pace", "cache", "model"
        )  # fmt: skip
        assert note.count >= 1
        assert note.offset is None or note.offset >= 0


def assert_sound(prompt: Prompt) -> None:
    """A prompt of the cache-stable builder from sources that were loaded (P2, P4, P5, P7, P11)."""
    text = prompt.text
    assert text == "".join(part.text for part in prompt.parts)
    assert boundaries(text) == 1
    assert text.split(DYNAMIC_CONTEXT_BOUNDARY) == [prompt.static_prefix, prompt.dynamic_suffix]
    assert_neutral(text)
    assert_notes(prompt.notes)
    digests: dict[str, str] = {}
    for part in prompt.parts:
        digests[part.origin] = digests.get(part.origin, "") + part.text
    assert prompt.digests == {origin: sha256_hex(texts) for origin, texts in digests.items()}


def check_text(data: bytes) -> None:
    """Every function on text is idempotent and deterministic, and its result encodes (P2, P3, P6, P7, P11)."""
    notes: list[Note] = []
    text = decode(data, "s", notes)
    assert decode(data, "s", []) == text
    assert "\r" not in text
    for name, function in FUNCTIONS.items():
        found: list[Note] = []
        result = function(text, "s", found)
        result.encode()
        again: list[Note] = []
        assert function(text, "s", again) == result, name
        assert again == found, name
        assert function(result, "s", []) == result, name
        assert (result != text) <= bool(found), name  # what was changed is noted
        assert all(note.offset is not None and note.offset <= len(text) for note in found), name
        assert len(result) <= 10 * len(text) + 40, name
    neutral = neutralise(text, "s", notes)
    assert_neutral(neutral)
    assert_notes(tuple(notes))
    limit = len(neutral.encode()) // 2
    short = shorten(neutral, limit)
    assert_neutral(short)
    assert len(short.encode()) <= limit + len(TRUNCATION_MARKER)
    assert boundaries(escape_boundary(text, "s", [])) == 0
    tags = escape_tags(text, TAGS, "s", [])
    # No section is closed; behind a word an opening tag may be a type.
    names = f"(?:{'|'.join(TAGS)})(?![\\w-])"
    assert not re.search(rf"<\s*/[/\s]*{names}|(?<![\w\s)\]])<\s*{names}", folded(tags), re.IGNORECASE)


@contextmanager
def folder() -> Iterator[str]:
    """Yield an empty folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as name:
        yield name


def _write(root: str, name: str, data: bytes) -> None:
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def check_files(data: bytes) -> None:
    """Instruction files of any bytes give a sound prompt within the limits (P1, P4, P8)."""
    size = len(data) // 3
    with folder() as root:
        for index, name in enumerate(WHITELIST):
            _write(root, name, data[index * size : (index + 1) * size] if index < 2 else data[2 * size :])
        files = load_instruction_files(root)
        again = load_instruction_files(root)
    assert (files, files.notes) == (again, again.notes)
    # A marker may stand outside the limit, and only one.
    assert sum(len(file.content.encode()) for file in files) <= TOTAL_LIMIT + len(TRUNCATION_MARKER)
    prompt = SystemPromptBuilder(instructions=files).compose()
    assert_sound(prompt)
    shown = [part.text for part in prompt.parts if part.origin.startswith("file:")]
    assert shown == [f"\n[{file.path}]\n{escape_boundary(file.content, '', [])}\n" for file in files]


def check_builder(data: bytes) -> None:
    """Whatever a caller passes in, there is one boundary and the static half stays (P1, P2, P4, P5, P12)."""
    text = data.decode("utf-8", "surrogatepass" if b"\xed" in data else "surrogateescape") if _decodes(data) else ""
    third = len(text) // 3
    one, two, three = text[:third], text[third : 2 * third], text[2 * third :]
    builder = SystemPromptBuilder(one, [InstructionFile(two, three)], two, ProjectContext(cwd=three), append=three)
    first = builder.compose()
    assert builder.build() == first.text
    builder.project = ProjectContext(
        cwd=one, current_date=two, git_status=three, git_diff=two, active_branch=one, os_name=two, os_version=three,
        shell=one,
    )  # fmt: skip
    second = builder.compose()
    assert first.static_prefix == second.static_prefix
    for prompt in (first, second):
        prompt.text.encode()
        assert boundaries(prompt.text) == 1
        assert prompt.text.split(DYNAMIC_CONTEXT_BOUNDARY) == [prompt.static_prefix, prompt.dynamic_suffix]
    (project, *_) = [part.text for part in second.parts if part.name == "project"]
    labels = [line.partition(": ")[0] for line in project.strip("\n").split("\n")[1:]]
    assert labels == [f"- {label}" for label in ("cwd", "date", "os", "shell", "branch") if _value(label, one, two)]
    recalled = inject_recalled(second.text, text)
    recalled.encode()
    assert recalled.startswith(second.text)
    assert boundaries(recalled) == 1
    _check_tagged(one, two, three)


def _decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass" if b"\xed" in data else "surrogateescape")
    except UnicodeDecodeError:
        return False
    return True


def _value(label: str, one: str, two: str) -> str:
    return two if label in ("date", "os") else one


def _check_tagged(one: str, two: str, three: str) -> None:
    """The sections of a tagged prompt are those that the builder opened, whatever is in them."""
    from datetime import UTC, datetime

    agent = AgentConfig(one or "x", two, [Responsibility(three, one)], storage=False)
    task = Task(one, two, three, one, (TaskStep(two, False, three),))
    prompt = compose_tagged_prompt(
        agent, "cli", one, [two, three], now=datetime(2031, 3, 4, tzinfo=UTC), task=task, memories=[one, two, three]
    )
    prompt.text.encode()
    opened = re.findall(r"<(/\w+)|(?<!\w)<(\w+)(?![\w-])", prompt.text)  # behind a word it is a type
    ours = [
        name for names in opened if (name := "".join(names)).strip("/").casefold() in {tag.casefold() for tag in TAGS}
    ]
    expected = []
    for part in prompt.parts:
        tag = next(tag for tag in TAGS if tag.lower() == part.name)
        expected.append(tag)
        if tag == "Responsibilities":
            expected += ["Responsibility", "/Responsibility"]
        expected.append(f"/{tag}")
    assert ours == expected


def check_skill(data: bytes) -> None:
    """A SKILL.md of any bytes gives one line of five columns, and a body that hides nothing (P1, P2, P5, P7)."""
    with folder() as root:
        _write(root, "skills/x/SKILL.md", data)
        store = load_skills(root)
        body = store.body(store.names()[0])
        again = load_skills(root)
    assert (store.index_text(), store.notes) == (again.index_text(), again.notes)
    (skill,) = store.skills
    index = store.index_text()
    assert index.count("\n") == 1
    assert index.endswith("\n")
    assert len(index.removesuffix("\n").split(" | ")) == 5
    assert len(skill.name) <= 256
    assert len(skill.description) <= 80
    assert len(index) < 20_000
    assert_neutral(index)
    assert_neutral(body)
    assert_notes(store.notes)
    assert_sound(SystemPromptBuilder(skill_directory=index).compose())


def check_template(data: bytes) -> None:
    """A template and its include of any bytes: all in place, or one error that says all (P1, P2, P5)."""
    template, _, rest = data.partition(b"\xff\xff")
    include, _, other = rest.partition(b"\xff\xff")
    with folder() as root:
        for name, content in (("t.txt", template), ("a", include), ("b.json", other)):
            _write(root, name, content)
        assembler = PromptAssembler(root, minify_json=len(data) % 2 == 1)
        try:
            assembled = assembler.assemble("t", {"A": "a", "B": "b.json"}, "id")
        except PromptAssemblyError as error:
            assert type(error) is type(error.problems[0])
            assert str(error) == "; ".join(problem.where_and_what() for problem in error.problems)
            return
        assert PromptAssembler(root, minify_json=len(data) % 2 == 1).assemble("t", {"A": "a", "B": "b.json"}, "id")
    assembled.content.encode()
    assert assembled.content_hash == sha256_hex(assembled.content)
    ends = [span.end for span in assembled.spans]
    assert [span.start for span in assembled.spans] == [0, *ends[:-1]][: len(ends)]
    assert (ends[-1] if ends else 0) == len(assembled.content)
    assert assembled.prompt.text == assembled.content
    texts = {"a": _plain(include), "b.json": _plain(other)}
    if len(data) % 2 == 0:
        assert assembled.content == _expanded(_plain(template), texts)


def _plain(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _expanded(template: str, texts: dict[str, str]) -> str:
    """Put includes in place, line by line: the whole of what assembling means."""
    lines = []
    for line in template.split("\n"):
        word = line.strip(" \t")
        if word in ("$$A", "$$B"):
            lines.append(texts["a" if word == "$$A" else "b.json"].rstrip("\n"))
        elif word.startswith("$$include"):
            lines.append(texts[word.removeprefix("$$include").strip(" \t").removeprefix("./")].rstrip("\n"))
        else:
            lines.append(line)
    return "\n".join(lines)


def check_messages(data: bytes) -> None:
    """Messages of any JSON are read or refused by name, for every provider, and are not changed (P1, P2, P3)."""
    try:
        messages = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(messages, list):
        messages = [messages]
    before = json.dumps(messages)
    for to, model in TARGETS.items():
        try:
            request = build_request("System.", messages, to=to, model=model)
            again = build_request("System.", messages, to=to, model=model)
        except DeepPromptError as error:
            str(error).encode()
            continue
        body = json.dumps(request.body, ensure_ascii=False)
        body.encode()
        assert json.dumps(again.body, ensure_ascii=False) == body
        for note in request.notes:
            str(note).encode()
    assert json.dumps(messages) == before


def check_conversation(data: bytes) -> None:
    """The same for conversations made of bytes: roles, blocks, calls and results in any order."""
    check_messages(json.dumps(conversation(data)).encode())


def conversation(data: bytes) -> list[dict[str, Any]]:
    """Make a conversation of bytes: two for a message's shape, and what follows for its text."""
    messages: list[dict[str, Any]] = []
    for chunk in data.split(b"\xff")[:20]:
        if not chunk:
            continue
        text = chunk[2:40].decode("utf-8", "surrogateescape")
        role = ("user", "assistant", "tool", "system", "developer", "user", "assistant", text)[chunk[0] % 8]
        messages.append({"role": role, "content": _content(chunk, text)})
        if chunk[0] & 8:
            call = {"id": text[:8], "type": "function", "function": {"name": text[8:] or "f", "arguments": text}}
            messages[-1]["tool_calls"] = [call] * (1 + chunk[0] % 2)
        if role == "tool":
            messages[-1]["tool_call_id"] = text[:8]
    return messages


def _content(chunk: bytes, text: str) -> object:
    kind = chunk[1] % 10 if len(chunk) > 1 else 0
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h" if kind % 2 else text}}
    shapes: list[object] = [
        text,
        None,
        [{"type": "text", "text": text, **mark}],
        [{"type": "tool_use", "id": text[:8], "name": text[8:], "input": {text: [text]}}],
        [{"type": "tool_result", "tool_use_id": text[:8], "content": text}, {"type": "text", "text": text}],
        [{"type": "image_url", "image_url": {"url": text}}],
        [{"type": "image", "source": {"type": "base64", "media_type": text, "data": "AAAA"}}],
        [{"type": "thinking", "thinking": text, "signature": text}, text],
        [{"type": text, text: text}],
        {text: text},
    ]
    return shapes[kind]
