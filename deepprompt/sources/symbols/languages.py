"""The languages of the symbol map: which files they have, which grammar reads them, and what a declaration is in them.

Node types are those of the grammars' wheels on PyPI. A `wrapper` stands around a declaration and belongs to its
signature, such as `export`. A `passage` is gone through without leaving a line, such as an `if` around definitions.
"""

from __future__ import annotations

from deepprompt.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """How one language is read."""

    module: str
    """The module of its grammar, and the function in it that returns the grammar, after a colon."""
    suffixes: tuple[str, ...]
    containers: frozenset[str]
    """Declarations whose own declarations are listed below them."""
    leaves: frozenset[str]
    """Declarations that are one line."""
    wrappers: frozenset[str] = frozenset()
    passages: frozenset[str] = frozenset()


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_SCRIPT = Language(
    "tree_sitter_javascript:language",
    (".js", ".jsx", ".mjs", ".cjs"),
    _set("class_declaration class"),
    _set("function_declaration generator_function_declaration method_definition field_definition variable_declarator")
    | _set("assignment_expression"),
    _set("export_statement lexical_declaration variable_declaration"),
    _set("expression_statement"),
)
_TYPED = Language(
    "tree_sitter_typescript:language_typescript",
    (".ts", ".mts", ".cts"),
    _SCRIPT.containers | _set("abstract_class_declaration interface_declaration internal_module module"),
    _SCRIPT.leaves
    | _set("function_signature method_signature abstract_method_signature property_signature public_field_definition")
    | _set("type_alias_declaration enum_declaration"),
    _SCRIPT.wrappers | _set("ambient_declaration"),
    _set("expression_statement"),
)
_C = Language(
    "tree_sitter_c:language",
    (".c", ".h"),
    frozenset(),
    _set("function_definition declaration type_definition struct_specifier union_specifier enum_specifier")
    | _set("preproc_def preproc_function_def"),
    frozenset(),
    _set("preproc_if preproc_ifdef preproc_else preproc_elif linkage_specification declaration_list"),
)

LANGUAGES = (
    Language(
        "tree_sitter_python:language",
        (".py", ".pyi"),
        _set("class_definition"),
        _set("function_definition type_alias_statement"),
        frozenset(),
        _set("decorated_definition if_statement else_clause elif_clause try_statement except_clause with_statement")
        | _set("block"),
    ),
    _SCRIPT,
    _TYPED,
    Language(
        "tree_sitter_typescript:language_tsx", (".tsx",), _TYPED.containers, _TYPED.leaves, _TYPED.wrappers,
        _TYPED.passages,
    ),
    Language(
        "tree_sitter_go:language",
        (".go",),
        frozenset(),
        _set("function_declaration method_declaration type_declaration const_declaration var_declaration"),
    ),
    Language(
        "tree_sitter_rust:language",
        (".rs",),
        _set("impl_item trait_item mod_item"),
        _set("function_item function_signature_item struct_item enum_item union_item type_item const_item static_item")
        | _set("macro_definition"),
        frozenset(),
        _set("foreign_mod_item"),
    ),
    _C,
    Language(
        "tree_sitter_cpp:language",
        (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
        _set("class_specifier struct_specifier namespace_definition"),
        _C.leaves - _set("struct_specifier") | _set("field_declaration alias_declaration concept_definition"),
        _set("template_declaration"),
        _C.passages | _set("access_specifier field_declaration_list"),
    ),
    Language(
        "tree_sitter_java:language",
        (".java",),
        _set("class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration"),
        _set("method_declaration constructor_declaration field_declaration compact_constructor_declaration"),
        frozenset(),
        _set("enum_body_declarations"),
    ),
)  # fmt: skip

BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}


def suffix_of(path: str) -> str:
    """Return the suffix of a source file that can be read, "" for any other file."""
    name = path.rpartition("/")[2]
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    return suffix if suffix in BY_SUFFIX else ""
