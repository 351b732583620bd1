"""Where pieces go: the stillest first, kept as long as that pays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deepprompt.providers.facts import bundled_facts
from deepprompt.session.layout import Layout, Piece, Prices, Talk, plan_layout
from tests.support.examples import examples

PRICES = Prices.of(bundled_facts().rules("anthropic", "claude-opus-5-5"), 4)


def piece(key: str, still: int, tokens: int = 1_000, digest: str = "1") -> Piece:
    """Return a file."""
    return Piece("file", key, digest, tokens, still)


def laid(layout: Layout, pieces: list[Piece]) -> list[dict[tuple[str, str], str]]:
    """Return a layout as the tiers of the turn before the next one."""
    digests = {each.name: each.digest for each in pieces}
    return [{name: digests[name] for name in tier} for tier in layout.tiers]


def test_the_stillest_stand_first() -> None:
    """Pieces are in the order of their stillness, and everything is in one place."""
    pieces = [piece(f"{still:03}", still) for still in (0, 3, 900, 40)]
    layout = plan_layout(pieces, [], 0, 1_000, Talk(), PRICES)
    order = [key for tier in layout.tiers for _, key in tier] + [key for _, key in layout.active]
    assert order == ["900", "040", "003", "000"]
    assert layout.kept == 0


def test_nothing_changed() -> None:
    """Tiers whose pieces are the same stay."""
    pieces = [piece(str(still), still) for still in (3, 900, 40)]
    first = plan_layout(pieces, [], 0, 1_000, Talk(), PRICES)
    again = plan_layout(pieces, laid(first, pieces), 4, 1_000, Talk((0,) * len(first.tiers)), PRICES)  # type: ignore[arg-type]
    assert (again.tiers, again.kept) == (first.tiers, len(first.tiers))


def test_a_change_keeps_the_tiers_before_it() -> None:
    """Tiers before the first changed piece stay, and the changed piece goes behind everything stiller."""
    pieces = [piece("cold", 900, 30_000), piece("warm", 60, 5_000), piece("hot", 0, 500)]
    first = plan_layout(pieces, [], 0, 1_000, Talk(), PRICES)
    assert len(first.tiers) > 1
    changed = [pieces[0], piece("warm", 0, 5_000, "2"), piece("hot", 1, 500)]
    second = plan_layout(changed, laid(first, pieces), 4, 1_000, Talk((0,) * len(first.tiers)), PRICES)  # type: ignore[arg-type]
    assert second.kept >= 1
    assert second.tiers[0] == first.tiers[0] == (("file", "cold"),)


def test_within_the_marks_of_the_provider() -> None:
    """There are no more tiers than the provider takes marks."""
    prices = Prices(0.1, 1.25, 2, 20)
    pieces = [piece(str(still), still, 5_000) for still in (0, 2, 9, 40, 200, 900)]
    assert len(plan_layout(pieces, [], 0, 1_000, Talk(), prices).tiers) <= 2


@examples(60)
@given(
    stills=st.lists(st.integers(0, 1_000), max_size=60),
    kinds=st.lists(st.sampled_from(["file", "symbols"]), min_size=60),
)
def test_every_piece_has_one_place(stills: list[int], kinds: list[str]) -> None:
    """Each piece is in one tier, or it is a file outside of them."""
    pieces = [Piece(kinds[n], str(n), "1", 100 + n, still) for n, still in enumerate(stills)]  # type: ignore[arg-type]
    layout = plan_layout(pieces, [], 0, 500, Talk(), PRICES)
    names = [name for tier in layout.tiers for name in tier] + list(layout.active)
    assert sorted(names) == sorted(each.name for each in pieces)
    assert all(kind == "file" for kind, _ in layout.active)
    assert len(layout.tiers) <= 4
