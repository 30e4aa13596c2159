"""The curves as a picture: one small frame each, with time from left to right."""

from collections.abc import Sequence
from html import escape

from tests.chaos.soak.curves import Curve

WIDTH, HEIGHT, MARGIN, COLUMNS = 300, 90, 30, 3
STYLE = (
    "text{font:12px sans-serif;fill:#24292f}.frame{fill:none;stroke:#d0d7de}.curve{fill:none;stroke:#0969da;"
    "stroke-width:1.5}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.frame{stroke:#444c56}.curve{stroke:#58a6ff}}"
)


def draw(curves: Sequence[Curve]) -> str:
    """Returns an SVG document."""
    rows = -(-len(curves) // COLUMNS)
    size = (COLUMNS * (WIDTH + MARGIN) + MARGIN, rows * (HEIGHT + 2 * MARGIN) + MARGIN)
    frames = [
        _frame(curve, MARGIN + (number % COLUMNS) * (WIDTH + MARGIN), 2 * MARGIN + (number // COLUMNS) * (HEIGHT + 60))
        for number, curve in enumerate(curves)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" role="img">',
            "<title>What a long run measured, over its time</title>",
            f"<style>{STYLE}</style>",
            *frames,
            "</svg>\n",
        ]
    )


def _frame(curve: Curve, left: int, top: int) -> str:
    longest = max(at for at, _ in curve.points) or 1.0
    highest = max(value for _, value in curve.points) or 1.0
    line = " ".join(
        f"{left + at / longest * WIDTH:.1f},{top + HEIGHT * (1 - value / highest):.1f}" for at, value in curve.points
    )
    words = f"{curve.name}: at most {highest:,.0f} {curve.unit}".strip()
    return "\n".join(
        [
            f'<text x="{left}" y="{top - 6}">{escape(words)}, {longest / 60:.0f} min</text>',
            f'<rect class="frame" x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<polyline class="curve" points="{line}"/>',
        ]
    )
