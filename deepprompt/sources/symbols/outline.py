"""The outline of one source file: its declarations, a line each, without bodies, line numbers or counts.

A change inside a body therefore changes nothing here. Needs tree-sitter and the grammar of the language.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

from deepprompt.sources.symbols.languages import BY_SUFFIX, Language

MOST_LINE = 120
MOST_LINES = 400
_MOST_DEPTH = 8
_BLANKS = re.compile(r"\s+")
_BODIES = ("body", "field_declaration_list", "enumerator_list", "declaration_list", "enum_variant_list", "enum_body",
           "class_body", "interface_body", "object_type", "macro_rule")  # fmt: skip
_ASSIGNED = {"variable_declarator": "value", "assignment_expression": "right"}
_PLUS_PLUS = re.compile(rb"^\s*(?:namespace|class|template|using)\b", re.MULTILINE)
_VALUES = ("arrow_function", "function_expression", "generator_function", "class")


@cache
def _parser(suffix: str) -> Any:
    tree_sitter = import_module("tree_sitter")  # by name: it is optional, and type checkers need not know it
    module, _, function = BY_SUFFIX[suffix].module.partition(":")
    return tree_sitter.Parser(tree_sitter.Language(getattr(import_module(module), function)()))


def outline(data: bytes, suffix: str) -> tuple[list[str], bool]:
    """Return the lines of a file's outline, and whether the file parsed without an error.

    A header is read as C++ if a line in it begins as only one of C++ does.
    """
    return _outline(data, ".hpp" if suffix == ".h" and _PLUS_PLUS.search(data) else suffix)


def _outline(data: bytes, suffix: str) -> tuple[list[str], bool]:
    root = _parser(suffix).parse(data).root_node
    lines: list[str] = []
    _walk(root, BY_SUFFIX[suffix], 1, lines, None)
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], "  ..."]
    return lines, not root.has_error


def _walk(node: Any, language: Language, depth: int, lines: list[str], start: int | None) -> None:
    """Add the declarations directly below a node. `start` is where a wrapper around them begins."""
    if depth > _MOST_DEPTH or len(lines) > MOST_LINES:
        return
    for child in node.named_children:
        kind = child.type
        begins = child.start_byte if start is None else start
        if kind in language.containers or (kind in language.leaves and _is_shown(child, depth, start)):
            body = _body(child)
            if signature := _signature(child, begins, body):
                lines.append("  " * depth + signature)
            if kind in language.containers and body is not None:
                _walk(body, language, depth + 1, lines, None)
        elif kind in language.wrappers:
            _walk(child, language, depth, lines, begins)
        elif kind in language.passages:
            _walk(child, language, depth, lines, None)


def _is_shown(node: Any, depth: int, wrapped: int | None) -> bool:
    """Whether a declaration says something about its file: a variable only at the top, and if it is more than data."""
    if node.type not in _ASSIGNED:
        return True
    value = node.child_by_field_name(_ASSIGNED[node.type])
    is_code = value is not None and value.type in _VALUES
    return depth == 1 and (is_code or (wrapped is not None and node.parent.parent.type == "export_statement"))


def _body(node: Any) -> Any:
    """Return the part of a declaration that its signature leaves out, None if there is none."""
    if node.type in _ASSIGNED:
        value = node.child_by_field_name(_ASSIGNED[node.type])
        return None if value is None else (value.child_by_field_name("body") or value)
    for name in ("body", "value"):
        if found := node.child_by_field_name(name):
            return found
    return next((child for child in _near(node, 3) if child.type in _BODIES), None)


def _near(node: Any, depth: int) -> list[Any]:
    """Return the nodes below a node, in order, down to a depth."""
    found = []
    for child in node.named_children:
        found.append(child)
        if depth > 1:
            found += _near(child, depth - 1)
    return found


def _signature(node: Any, start: int, body: Any) -> str:
    """Return a declaration on one line: from its start to its body, or to the first comment in it."""
    end = node.end_byte if body is None else body.start_byte
    root = node
    while root.parent is not None and root.start_byte > start:
        root = root.parent
    for child in _near(node, 4):
        if child.start_byte >= end:
            break
        if "comment" in child.type:
            end = child.start_byte
            break
    text = root.text[start - root.start_byte : end - root.start_byte].decode("utf-8", "replace")
    line = _BLANKS.sub(" ", text).strip().rstrip("{=:;, ").rstrip()
    if body is not None and node.type == "type_definition":  # the name of a C type stands behind its body
        name = node.text[body.end_byte - node.start_byte :].decode("utf-8", "replace")
        line = f"{line} {_BLANKS.sub(' ', name).strip(' ;')}"
    data = line.encode()
    return line if len(data) <= MOST_LINE else data[: MOST_LINE - 3].decode("utf-8", "ignore") + "..."
