"""Write what follows each `<!-- reference: NAME -->` in docs/reference: signature, docstring and members.

Run `python scripts/write_reference.py`. All of it comes from the source of the package, which is parsed and not run.
The example of a name follows `<!-- example -->`. It is written by hand, and this script keeps it. A test runs the
examples of each page and compares what they print.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import deepprompt  # noqa: E402

REFERENCE = ROOT / "docs" / "reference"
MARKER = re.compile(r"^<!-- reference: (deepprompt\.[\w.]+) -->\n", re.MULTILINE)
EXAMPLE = "<!-- example -->\n"
_LONGEST = 300
_WIDTH = 100

Node = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign


@cache
def _tree(module: str) -> ast.Module:
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text("utf-8"))


def _found(name: str) -> tuple[Node | None, str]:
    """Return where a name is defined, and the text below it if that is a docstring; a module has no node."""
    module, _, member = name.rpartition(".")
    if module == "deepprompt":
        module = deepprompt._MODULES.get(member, name)
    if module == name:
        return None, ast.get_docstring(_tree(module)) or ""
    for defined, text in _documented(_tree(module).body):
        if _name(defined) == member:
            return defined, text
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and member in [one.name for one in node.names]:
            return _found(f"{node.module}.{member}")
    raise SystemExit(f"{name}: nothing of this name in {module}")


def _name(node: Node) -> str:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return target.id if isinstance(target, ast.Name) else ""
    return node.name


def _documented(body: list[ast.stmt]) -> Iterator[tuple[Node, str]]:
    """Yield the definitions of a body with their docstrings; that of a value is the string after it."""
    for number, node in enumerate(body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            after = body[number + 1] if number + 1 < len(body) else None
            value = after.value if isinstance(after, ast.Expr) else None
            yield node, _flat(str(value.value)) if isinstance(value, ast.Constant) else ""


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> str:
    """Return the first line of a function, one argument a line if it is long."""
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^(self|cls)(, |$)", "", arguments)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    line = f"{prefix} {name}({arguments}){returns}: ..."
    if len(line) <= _WIDTH:
        return line
    node.args.args = [one for one in node.args.args if one.arg not in ("self", "cls")]
    parts = _split(ast.unparse(node.args))
    return f"{prefix} {name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}: ..."


def _split(arguments: str) -> list[str]:
    """Cut a list of arguments at the commas outside brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for number, sign in enumerate(arguments):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == "," and not depth:
            parts.append(arguments[start:number].strip())
            start = number + 1
    return [*parts, arguments[start:].strip()]


def _code(text: str) -> str:
    return f"<!-- not run: a signature -->\n```python\n{text}\n```\n"


def _prose(docstring: str) -> str:
    return f"\n{docstring.strip()}\n" if docstring.strip() else ""


def _class(node: ast.ClassDef, docstring: str, *, public: bool) -> str:
    """Return a class: how it is made if it is `public`, its fields, its properties and its methods."""
    fields, properties, methods, made = [], [], [], None
    for member, text in _documented(node.body):
        name = _name(member)
        if name == "__init__" and isinstance(member, ast.FunctionDef):
            made = member
        if not name or name.startswith("_"):
            continue
        if isinstance(member, ast.AnnAssign):
            value = _default(member) or ""
            default = f" = {value}" if 0 < len(value) < 30 else ""
            fields.append(f"- `{name}: {ast.unparse(member.annotation)}{default}`" + (f": {text}" if text else ""))
        elif isinstance(member, ast.Assign):
            fields.append(f"- `{name} = {ast.unparse(member.value)[:60]}`" + (f": {text}" if text else ""))
        elif isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = {ast.unparse(mark) for mark in member.decorator_list}
            if marks & {"property", "cached_property", "functools.cached_property"}:
                returns = f": {ast.unparse(member.returns)}" if member.returns else ""
                properties.append(f"- `{name}{returns}`" + (f": {_flat(text)}" if text else ""))
            elif not any(mark.endswith(".setter") for mark in marks) and "overload" not in marks:
                shown = _code(_signature(member, f"{node.name}.{name}" if "classmethod" in marks else name))
                methods.append(f"\n### {node.name}.{name}\n\n{shown}{_prose(text)}")
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    head = f"class {node.name}({bases}): ..." if bases else f"class {node.name}: ..."
    if made:
        text = _code(_signature(made, node.name).replace("def ", "", 1).removesuffix(": ..."))
    else:
        text = _code((public and _constructor(node)) or head)
    text += _prose(docstring)
    for title, rows in (("Fields", fields), ("Properties", properties)):
        text += f"\n**{title}**\n\n" + "\n".join(rows) + "\n" if rows else ""
    return text + "".join(methods)


def _default(field: ast.AnnAssign) -> str | None:
    """Return the default of a field as a caller would write it, "" if it has none, None if it is no argument."""
    if not isinstance(field.value, ast.Call) or ast.unparse(field.value.func) != "field":
        return ast.unparse(field.value) if field.value else ""
    options = {option.arg: ast.unparse(option.value) for option in field.value.keywords}
    if options.get("init") == "False":
        return None
    made = options.get("default_factory", "")
    return options.get("default") or {"dict": "{}", "list": "[]", "tuple": "()", "": ""}.get(made, f"{made}()")


def _constructor(node: ast.ClassDef) -> str:
    """Return how a dataclass is called, "" for any other class."""
    if not any("dataclass" in ast.unparse(mark) for mark in node.decorator_list):
        return ""
    fields = [(field, _default(field)) for field in node.body if isinstance(field, ast.AnnAssign)]
    given = [
        f"{_name(field)}: {ast.unparse(field.annotation)}" + (f" = {default}" if default else "")
        for field, default in fields
        if default is not None and not _name(field).startswith("_")
    ]
    line = f"{node.name}({', '.join(given)})"
    return line if len(line) <= _WIDTH else f"{node.name}(\n" + "".join(f"    {one},\n" for one in given) + ")"


def _flat(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip())


def _value(node: ast.Assign | ast.AnnAssign, name: str) -> str:
    """Return a value as it is assigned; if it is long or computed on demand, only its type."""
    value = ast.unparse(node.value) if node.value else ""
    if value and len(value) < _LONGEST:
        return f"{name} = {value}"
    if isinstance(node, ast.AnnAssign):
        return f"{name}: {ast.unparse(node.annotation)}"
    return f"{name} = {value.partition('[')[0]}[...]"


def entry(name: str) -> str:
    """Return what the reference says about a name."""
    node, docstring = _found(name)
    short = name.rpartition(".")[2]
    head = f"\n## {short}\n\n"
    if name.count(".") > 1 and node is not None:
        head += f"`from {name.rpartition('.')[0]} import {short}`\n\n"
    if node is None:
        return head + docstring.strip() + "\n\n"
    if isinstance(node, ast.ClassDef):
        text = _class(node, docstring, public=name.count(".") == 1)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        text = _code(_signature(node, short)) + _prose(docstring)
    else:
        text = _code(_value(node, short))
        text += _prose(docstring)
    return head + text + "\n"


def page(text: str) -> str:
    """Return a page of the reference with everything but its examples written again, as ruff formats it."""
    head, *rest = MARKER.split(text)
    written = head
    for name, old in zip(rest[::2], rest[1::2], strict=True):
        _, marker, kept = old.partition(EXAMPLE)
        written += f"<!-- reference: {name} -->\n{entry(name)}{marker}{kept}"
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", "page.md", "-"]
    done = subprocess.run(command, input=written.rstrip("\n") + "\n", stdout=subprocess.PIPE, text=True, check=True)
    return str(done.stdout)


if __name__ == "__main__":
    for path in sorted(REFERENCE.glob("*.md")):
        path.write_text(page(path.read_text("utf-8")), "utf-8")
