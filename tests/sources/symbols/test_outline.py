"""The outline of one source file, in every language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.sources.symbols.outline import MOST_LINE, MOST_LINES, outline
from tests.support.examples import examples

pytest.importorskip("tree_sitter", reason="the symbol map needs deepprompt[map]")

SOURCES = {
    ".py": (
        "import os\nX = 1\n@dec\nclass A(B):\n    x: int = 1\n    @property\n"
        "    async def f(self, a: int = 1) -> str:  # c\n"
        "        return BODY\ndef g(a,\n      b): pass\nif True:\n    def h(): ...\n",
        ["class A(B)", "  async def f(self, a: int = 1) -> str", "def g(a, b)", "def h()"],
    ),
    ".js": (
        "export default class A extends B { static p = 1; constructor(a){ BODY } async *m(){} }\n"
        "export const f = async (a, b) => { return BODY };\nfunction g(){}\nconst q = 5;\n"
        "exports.h = function(a){ BODY };\n",
        ["export default class A extends B", "  static p", "  constructor(a)", "  async *m()",
         "export const f = async (a, b) =>", "function g()", "exports.h = function(a)"],
    ),
    ".ts": (
        "export interface I<T> extends J { a: string; m(x: number): void }\nexport type T1 = {a: 1};\n"
        "export enum E {A}\n"
        "abstract class A<T> implements I { private x: number = 1; abstract m(): void; k(){ return BODY } }\n"
        "declare function d(x: number): void;\nnamespace N { export function q(){} }\n",
        ["export interface I<T> extends J", "  a: string", "  m(x: number): void", "export type T1", "export enum E",
         "abstract class A<T> implements I", "  private x: number", "  abstract m(): void", "  k()",
         "declare function d(x: number): void", "namespace N", "  export function q()"],
    ),
    ".tsx": ("export function P(p: Q) { return <b>{BODY}</b>; }\n", ["export function P(p: Q)"]),
    ".go": (
        "package p\nconst X = 1\ntype S struct {\n A int\n}\ntype I interface { M(a int) error }\n"
        "func (s *S) M(a int) error { return BODY }\nfunc F[T any](x T) {}\n",
        ["const X = 1", "type S struct", "type I interface { M(a int) error }", "func (s *S) M(a int) error",
         "func F[T any](x T)"],
    ),
    ".rs": (
        "pub struct S<T> { a: u8 }\npub enum E { A, B(u8) }\n"
        "impl<T> Tr for S<T> { pub fn new(a: u8) -> Self { BODY } }\n"
        "pub trait Tr { fn m(&self); }\nmod m { pub fn f() {} }\nmacro_rules! mm { () => {} }\npub const X: u8 = 1;\n",
        ["pub struct S<T>", "pub enum E", "impl<T> Tr for S<T>", "  pub fn new(a: u8) -> Self", "pub trait Tr",
         "  fn m(&self)", "mod m", "  pub fn f()", "macro_rules! mm", "pub const X: u8"],
    ),
    ".c": (
        "#define X(a) a\n#ifdef Q\nstruct s { int a; };\n#endif\ntypedef struct { int b; } t;\nenum e { A };\n"
        "static int f(int a, char *b) { return BODY; }\nint *g(void);\n",
        ["#define X(a)", "struct s", "typedef struct t", "enum e", "static int f(int a, char *b)", "int *g(void)"],
    ),
    ".cpp": (
        "namespace n { template<class T> class A : public B { public: A(int x); void m() const { BODY; } }; }\n"
        "void n::A::q(int a) { BODY; }\nenum class E { X };\nusing T = int;\n",
        ["namespace n", "  template<class T> class A : public B", "    A(int x)", "    void m() const",
         "void n::A::q(int a)", "enum class E", "using T = int"],
    ),
    ".java": (
        "public class A<T> extends B { private int x = 1; public A(int a) { BODY; } @Override public void"
        " m(int a) throws E { }"
        " interface I { void q(); } enum F { X, Y; void k(){} } record R(int a) {} }\n",
        ["public class A<T> extends B", "  private int x = 1", "  public A(int a)",
         "  @Override public void m(int a) throws E",
         "  interface I", "    void q()", "  enum F", "    void k()", "  record R(int a)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("suffix", SOURCES)
def test_declarations(suffix: str) -> None:
    """Each declaration is a line as the file has it, without its body, below the one that it is in."""
    source, lines = SOURCES[suffix]
    assert outline(source.replace("BODY", "x").encode(), suffix) == ([f"  {line}" for line in lines], True)


@pytest.mark.parametrize("suffix", SOURCES)
@examples(20)
@given(body=st.sampled_from(["1", "a + b", "f(x, 2)", '"text"', "( y )"]))
def test_law_7_a_change_in_a_body_changes_no_line(suffix: str, body: str) -> None:
    """Whatever stands in a body, the outline is the same."""
    source = SOURCES[suffix][0]
    assert outline(source.replace("BODY", body).encode(), suffix) == outline(
        source.replace("BODY", "x").encode(), suffix
    )


def test_limits() -> None:
    """A long signature and a long outline are cut."""
    lines, _ = outline(f"def f({'a' * 300}): pass\n".encode(), ".py")
    assert len(lines[0].encode()) == 2 + MOST_LINE
    lines, _ = outline(b"def f(): pass\n" * 1_000, ".py")
    assert (len(lines), lines[-1]) == (MOST_LINES + 1, "  ...")


def test_a_header_of_c_plus_plus() -> None:
    """A header is read as C, or as C++ if it is that."""
    assert outline(b"namespace n { class A { void m(); }; }\n", ".h") == (
        ["  namespace n", "    class A", "      void m()"],
        True,
    )
    assert outline(b"int class(int a);\n", ".h") == (["  int class(int a)"], True)


def test_broken_syntax() -> None:
    """A file with a syntax error says so."""
    assert outline(b"def f(:\n  x\nclass", ".py")[1] is False


@pytest.mark.parametrize("suffix", SOURCES)
def test_bytes_that_are_no_source(suffix: str) -> None:
    """Random bytes, deep nesting and an empty file end with an outline."""
    for data in (b"", b"\xff\xfe\x00" * 500, b"(" * 20_000, b"{" * 20_000, b"class A { " * 2_000, b'"' + b"x" * 50_000):
        lines, _ = outline(data, suffix)
        assert all(isinstance(line, str) for line in lines)
