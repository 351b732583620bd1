"""Draw docs/images/session-cost.svg: what the input of a coding session costs, turn by turn, in two layouts.

Run `python scripts/draw_session.py`. The session is the one of `benchmarks.sessions`: fifty invented turns, simulated
with Anthropic's dated cache rules and prices. The picture is text, and the same bytes on every machine.
"""

from __future__ import annotations

import sys
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.coding_session import Turn, build_layout, coding_session, session_layout  # noqa: E402
from deepprompt.checks.cache.simulate import simulate  # noqa: E402
from deepprompt.fleet.prices import bundled_prices  # noqa: E402
from deepprompt.providers.facts import bundled_facts  # noqa: E402

PICTURE = ROOT / "docs" / "images" / "session-cost.svg"
MODEL = "claude-opus-5-5"
WIDTH, HEIGHT = 660, 340  # narrow enough to be read on a phone
LEFT, RIGHT, TOP, BOTTOM = 62, 644, 76, 286
STYLE = """
text { font: 16px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f; }
.back { fill: #ffffff; }
.title { font-size: 21px; font-weight: 600; }
.quiet { fill: #57606a; font-size: 14px; }
.grid { stroke: #d0d7de; stroke-width: 1; }
.tick { stroke: #bc4c00; stroke-width: 2; }
.before { fill: none; stroke: #bc4c00; stroke-width: 3; }
.after { fill: none; stroke: #0969da; stroke-width: 3; }
.before-text { fill: #bc4c00; font-weight: 600; }
.after-text { fill: #0969da; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .back { fill: #0d1117; }
  .quiet { fill: #9198a1; }
  .grid { stroke: #3d444d; }
  .tick, .before { stroke: #f0883e; }
  .after { stroke: #4493f8; }
  .before-text { fill: #f0883e; }
  .after-text { fill: #4493f8; }
}
"""


def dollars(turns: list[Turn]) -> tuple[list[float], list[float]]:
    """Return the cost of the input up to the end of each turn: state in the system prompt, and in a session."""
    rules = bundled_facts().rules("anthropic", MODEL)
    price = bundled_prices().of(MODEL)
    assert price is not None and price.input is not None
    both = []
    for layout in (build_layout, session_layout):
        sent = list(layout(turns, to="anthropic", model=MODEL))
        charges = simulate([one.segments for one in sent], rules, times=[one.at for one in sent]).charges
        spent = [0.0] * len(turns)
        for one, charge in zip(sent, charges, strict=True):
            spent[one.turn - 1] += rules.paid(charge.read, charge.written, charge.full) * price.input / 1_000_000
        both.append(list(accumulate(spent)))
    return both[0], both[1]


def drawn(turns: list[Turn]) -> str:
    """Return the picture."""
    before, after = dollars(turns)
    step = 0.5
    top = step * (int(max(before) / step) + 1)
    across = (RIGHT - LEFT) / len(turns)

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * value / top

    def line(values: list[float], name: str) -> str:
        points = " ".join(f"{LEFT + across * turn:.1f},{y(value):.1f}" for turn, value in enumerate([0.0, *values]))
        return f'<polyline class="{name}" points="{points}"/>'

    def words(x: float, at: float, text: str, name: str = "", anchor: str = "start") -> str:
        return f'<text x="{x:.0f}" y="{at:.0f}" class="{name}" text-anchor="{anchor}">{text}</text>'

    saved = 1 - after[-1] / before[-1]
    label = f"The input of {len(turns)} turns costs ${before[-1]:.2f} or ${after[-1]:.2f}: {saved:.0%} less"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">',
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        words(LEFT, 32, f"{len(turns)} turns of coding: the input costs {saved:.0%} less", "title"),
        words(LEFT, 56, f"dollars spent on input so far, {MODEL}, simulated", "quiet"),
    ]
    for number in range(int(top / step) + 1):
        value = number * step
        lines.append(f'<path class="grid" d="M{LEFT} {y(value):.1f}H{RIGHT}"/>')
        lines.append(words(LEFT - 8, y(value) + 4, f"${value:.2f}", "quiet", "end"))
    for number, turn in enumerate(turns):
        if turn.moved:
            lines.append(f'<path class="tick" d="M{LEFT + across * (number + 0.5):.1f} {BOTTOM + 4}v8"/>')
    lines += [
        line(before, "before"),
        line(after, "after"),
        words(
            RIGHT - 130,
            y(top - 1.5 * step) + 5,
            f"project state in the system prompt: ${before[-1]:.2f}",
            "before-text",
            "end",
        ),
        words(RIGHT, BOTTOM - 14, f"a deepprompt session: ${after[-1]:.2f}", "after-text", "end"),
        words(LEFT, BOTTOM + 32, "turn 1", "quiet"),
        words(RIGHT, BOTTOM + 32, f"turn {len(turns)}", "quiet", "end"),
        words((LEFT + RIGHT) / 2, BOTTOM + 32, "each tick: git, AGENTS.md or the date changed", "quiet", "middle"),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawn(coding_session()), "utf-8")
