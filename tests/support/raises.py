"""Which errors of ours a function raises, read from its source: its own, and those of what it calls in its module."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from deepprompt import errors

Function = ast.FunctionDef | ast.AsyncFunctionDef


def raised(function: Function, module: ast.Module, owner: ast.ClassDef | None = None) -> set[type[Exception]]:
    """Return the classes of the errors that a function, or a method of `owner`, raises by name.

    Errors that `wrong` makes are left out: every function raises them for an argument of a wrong type.
    """
    found: set[type[Exception]] = set()
    seen: set[str] = set()
    waiting = [function]
    while waiting:
        current = waiting.pop()
        if current.name in seen:
            continue
        seen.add(current.name)
        for node in _own(current):
            if isinstance(node, ast.Raise):
                made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                error = getattr(errors, made.id, None) if isinstance(made, ast.Name) else None
                found |= {error} if isinstance(error, type) else set()
            elif isinstance(node, ast.Call):
                waiting += _called(node.func, module, owner)
    return found


def _own(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of the functions that it defines."""
    inner = {id(node) for part in ast.walk(function) if isinstance(part, Function) and part is not function
             for node in ast.walk(part)}  # fmt: skip
    yield from (node for node in ast.walk(function) if id(node) not in inner)


def _called(called: ast.expr, module: ast.Module, owner: ast.ClassDef | None) -> list[Function]:
    if isinstance(called, ast.Name):
        return [node for node in module.body if isinstance(node, Function) and node.name == called.id]
    if owner and isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "self":
        return [node for node in owner.body if isinstance(node, Function) and node.name == called.attr]
    return []
