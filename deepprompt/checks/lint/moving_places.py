"""How paths of one machine, its state and the state of git give themselves away."""

from __future__ import annotations

import re

from deepprompt.checks.lint.look import (
    CASELESS,
    HEX_ROW,
    LABEL_END,
    LINE_START,
    LINES,
    PATH,
    UUID,
    Look,
    is_stated,
    line_around,
)  # fmt: skip
from deepprompt.checks.lint.moving_times import is_fact

_BEGIN = r"(?<![\w.~/@$}\]-])"
_NAME = r"(?P<name>[^\s/\\:*?\"<>|`'(),;\[\]{}$%]{1,64}+)(?![<{$%])"
_BACK = r"[\\/]{1,2}"
_REST = rf"(?:{_BACK}(?:[^\s\"'`<>|,;)]{{0,200}}[^\s\"'`<>|,;).:])?)?"
_HOME = re.compile(rf"{_BEGIN}(?P<value>(?:/(?:home|Users)/|[A-Za-z]:{_BACK}Users{_BACK}){_NAME}{_REST})")
_ROOT = re.compile(rf"{_BEGIN}(?P<value>/root/(?=\w){_NAME}{_REST})")
_TEMP = re.compile(
    rf"{_BEGIN}(?P<value>(?:(?:/private)?/tmp/(?:tmp[a-z0-9_]{{6,10}}(?![\w-])|pytest-of-[\w.-]{{1,40}}+|{UUID}"
    r"|(?=\d{0,16}[a-f])(?=[a-f]{0,16}\d)[0-9a-f]{8,40}(?![\w-])|[A-Za-z]{1,20}[.-](?=[A-Za-z]{0,12}\d)[A-Za-z0-9]{6,16}(?![\w-]))"
    rf"|(?:/private)?/var/folders/[\w+]{{2}}/[\w+]{{6,60}}|[A-Za-z]:{_BACK}Users{_BACK}{_NAME}{_BACK}AppData{_BACK}Local"
    rf"{_BACK}Temp\b){_REST})"
)
# User names of examples, containers and build machines.
_NOBODY = re.compile(
    r"[a-z]|you|me|someone|somebody|foo|bar|alice|bob|carol|john|jane|johndoe|janedoe|john\.doe|jdoe|example|test|tester|dev"
    r"|developer|runner|runneradmin|ubuntu|debian|node|app|vscode|codespace|coder|jovyan|git|deploy|deployer|docker|container"
    r"|circleci|jenkins|vagrant|pi|admin|administrator|root|guest|agent|sandbox|nonroot|linuxbrew|shared|public|default|www"
    r"|www-data|gitpod|project|nobody|suspect|victim|attacker|student|employee|target|workspace|site|web|webapp|httpd|nginx|azureuser|ec2-user|opc|centos|fedora|kali|ftp|data"
    r"|devcontainers?|codespaces?|postgres|oracle|steam|odoo|frappe|appuser|pwuser|service|\.\.\.?|…|.{0,60}(?:user|name|your|xxx).{0,60}"
)
# A path in an example, and words beside one that is shown as a fault or in a log.
_SHOWN_PATH = re.compile(r"[\\/](?:my[-_]?(?:project|app|repo)|example|foo|some[-_]project)\w*(?:[\\/]|$)", CASELESS)
_BLAMED = re.compile(
    r"hard-?coded|user-specific|\b(?:instead of|never|avoid|don['’]t|do not|fail(?:ed|s|ure)?|error|fixture|wrong|bad"
    r"|traceback)\b"
    r"|^[ \t>]{0,8}(?:\[\w+\]|\d{2,7} )",
    CASELESS,
)
_EXAMPLES_BELOW = re.compile(r"\bexamples?\b[^\n]{0,40}:[*_` \t]{0,4}\n", CASELESS)
_ROUTE = re.compile(
    r"\b(?:rout(?:e|es|er|ing)|endpoint|page|screen|tab|ur[il]s?|redirect\w*|navigat\w*|GET|POST|link\w*)\b",
    CASELESS,
)
_FOLDER_PATH = r"(?P<value>(?:/|[A-Za-z]:[\\/]{1,2})[^\s\"'`<>|,;)\]]{0,300}[^\s\"'`<>|,;).:\]])"
_FOLDER_NAME = (
    r"(?:cwd|pwd|(?:current[ _-]?|primary )?work(?:ing)?[ _-]?(?:directory|dir|folder)"
    r"|current[ _-]?(?:directory|folder|dir)|(?:project|workspace|repo(?:sitory)?|root)"
    r"[ _-]?(?:root|directory|folder|path|dir)(?: folder| path)?|workspace)"
)
# A tag counts with both its ends: `<workdir>/x` is a placeholder.
_FOLDER = re.compile(
    rf"(?<![\w<-])(?:{_FOLDER_NAME}(?: \([^()\n]{{0,40}}\))?[*`\"'_]{{0,3}}[ \t]?"
    r"(?:is(?: now| currently| set to)?\b[ \t]?[:=]?|[:=：|])[ \t*`\"'(]{0,6}"
    r"|(?:you(?:['’]re| are)|i(?:['’]m| am))(?: currently| now)? (?:working|running|operating)"
    r" (?:in|from|inside|at|on)(?: the)?(?: (?:directory|folder|path|repository|project|workspace))?[: \t`\"']{1,4})"
    rf"{_FOLDER_PATH}",
    CASELESS,
)
_FOLDER_TAG = re.compile(rf"<(?P<tag>{_FOLDER_NAME})>\s?{_FOLDER_PATH}\s?</(?P=tag)>", CASELESS)
_PARAGRAPH = 600  # characters before a path in which its paragraph may begin with "Examples:"
# The usual working folders of containers.
_FIXED = (
    "/tmp", "/app", "/workspace", "/workspaces", "/repo", "/src", "/code", "/work", "/project", "/usr/src/app",
    "/github/workspace", "/testbed", "/mnt/data", "/dev/null", "/root", "/home",
)  # fmt: skip
_NOWHERE = re.compile(
    r"/\.|(?:[^\n]{0,200}?/)?(?:path|your|some|absolute|full|abs|example|foo|bar|my|the|to|dir|proj|user)(?:[/_.-]|$)"
    r"|[^\n]{0,200}?(?:\.\.\.|…|[{$%*#])|[^\n]{0,200}?/(?:your|my|some|example)[/_-]",
    CASELESS,
)
_MACHINE = re.compile(
    rf"{LINE_START}(?P<value>(?:host ?name|machine name|computer name){LABEL_END}(?P<host>[A-Za-z0-9][\w.-]{{2,80}})"
    rf"|(?:system )?uptime{LABEL_END}(?:up )?\d{{1,6}}(?: ?(?:d|days?|h|hours?|min|minutes?|s|seconds?)\b|:\d\d)"
    rf"[^\n]{{0,20}}|load averages?{LABEL_END}\d[\d., ]{{2,30}}|(?:free|available|used) (?:memory|ram"
    rf"|disk(?: space)?){LABEL_END}"
    r"\d[\d.,]{0,8} ?[KMGT]?i?B)(?=[ \t]*$|[,;<`])",
    LINES,
)
_GIT = re.compile(
    rf"{LINE_START}(?P<value>(?:current|git|active)[ _-]?branch{LABEL_END}\w[\w./+-]{{0,100}}"
    r"(?=[ \t*`\"']{0,4}(?:$|\())|(?:HEAD|(?:last|latest|current|head|git)[ _]commit)(?: sha| hash| id)?"
    rf"{LABEL_END}(?=[a-f]{{0,40}}\d)[0-9a-f]{{7,40}}\b)",
    LINES,
)
_GIT_STATUS = re.compile(
    r"^(?P<value>On branch \w[\w./+-]{0,100}(?=[ \t]*$)|HEAD (?:is now|detached) at [0-9a-f]{7,40}\b"
    r"|Your branch is (?:ahead of|behind) ')",
    re.MULTILINE,
)
_GIT_LINE = re.compile(rf"{LINE_START}(?P<value>branch{LABEL_END}\w[\w./+-]{{0,100}})(?=[ \t]*$| \()", LINES)
_HASH = r"(?=[0-9]{0,40}[a-f])(?=[a-f]{0,40}[0-9])[0-9a-f]{7,40}"
_LOG_LINE = re.compile(
    rf"^[ \t>*|/\\-]{{0,12}}(?:commit )?(?P<name>)"
    rf"(?P<value>`?{_HASH}`?(?: \([^()\n]{{1,80}}\))?:?(?: [^\n]{{1,200}}|(?=[ \t]*$)))",
    re.MULTILINE,
)
_LOG_TITLE = re.compile(r"\b(?:recent|last|latest|git) (?:commits?|log|history)\b|\bcommit (?:log|history)\b", CASELESS)


def _is_somebody(match: re.Match[str], text: str) -> bool:
    name = match["name"].lower().rstrip(".…")
    if not name or _NOBODY.fullmatch(name):
        return False
    around = line_around(match, text)
    paragraph = text[max(0, match.start() - _PARAGRAPH) : match.start()].rpartition("\n\n")[2]
    if _EXAMPLES_BELOW.search(paragraph):
        return False
    routed = match["value"].startswith("/home/") and _ROUTE.search(around)
    return (
        not routed and not _SHOWN_PATH.search(match["value"]) and not _BLAMED.search(around) and is_stated(match, text)
    )


def _is_temporary(match: re.Match[str], text: str) -> bool:
    return (match["name"] is None or _is_somebody(match, text)) and is_stated(match, text)


def _is_folder(match: re.Match[str], text: str) -> bool:
    path = match["value"].rstrip("/.")
    parts = re.split(r"[\\/]+", path)
    anybody = len(parts) > 2 and parts[1] in ("home", "Users") and _NOBODY.fullmatch(parts[2].lower())
    cut = text[match.end() : match.end() + 1] in ("<", "{", "$", "*")  # a placeholder follows
    fixed = not path or path in _FIXED or anybody or _NOWHERE.match(path) or cut
    return not fixed and is_stated(match, text)


def _is_host(match: re.Match[str], text: str) -> bool:
    host = (match["host"] or "").lower()
    return not host.startswith(("localhost", "example", "your", "string")) and is_stated(match, text)


def _is_logged(match: re.Match[str], text: str) -> bool:
    """Whether a line of git's log has another one beside it, or stands below a title that says so."""
    following = text[match.end() :][:400].lstrip("\n").partition("\n")[0]
    earlier = text[max(0, match.start() - 400) : match.start()].rstrip("\n").rpartition("\n")[2]
    near = text[max(0, match.start() - 120) : match.start()]
    beside = _LOG_LINE.match(following) or _LOG_LINE.match(earlier)
    return (beside is not None or _LOG_TITLE.search(near) is not None) and is_stated(match, text)


_WORKING, _HOMES, _CHECKED_OUT = "the working folder", "a path below a home folder", "what is checked out"
_MACHINES = "a machine's name or state"
_NAMES = ("hostname", "host name", "machine name", "computer name")
_PATHS = (PATH, ":\\")
FOLDERS = (
    Look("DP108", _WORKING, _PATHS, _FOLDER, _is_folder, digits=False, only_rendered=True),
    Look("DP108", _WORKING, (PATH, ">c:"), _FOLDER_TAG, _is_folder, digits=False, only_rendered=True),
    Look(
        "DP105",
        "a temporary path",
        ("/tmp/", "/var/folders", "temp"),
        _TEMP,
        _is_temporary,
        digits=False,
        only_rendered=True,
    ),
    Look("DP104", _HOMES, ("/home/", "/users/", "users\\"), _HOME, _is_somebody, digits=False, in_blocks=True,
         elsewhere=True, once=True),
    Look("DP104", _HOMES, ("/root/",), _ROOT, _is_somebody, digits=False, only_rendered=True, once=True),
)  # fmt: skip
STATES = (
    Look("DP112", _CHECKED_OUT, ("branch", "head", "commit"), _GIT, is_stated, digits=False, only_rendered=True),
    Look("DP112", _CHECKED_OUT, ("branch", "head"), _GIT_STATUS, is_stated, digits=False, only_prose=True,
         only_rendered=True),
    Look("DP112", _CHECKED_OUT, ("branch",), _GIT_LINE, is_fact, digits=False, only_rendered=True),
    Look("DP112", "a line of git's log", (HEX_ROW,), _LOG_LINE, _is_logged, only_rendered=True, once=True),
    Look("DP111", _MACHINES, _NAMES, _MACHINE, _is_host, digits=False, only_rendered=True),
    Look("DP111", _MACHINES, ("uptime", "load average", "memory", " ram", "disk"), _MACHINE, _is_host,
         only_rendered=True),
)  # fmt: skip
