"""Tables that fit the terminal, and values in a form for people."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime, timezone

from berth_cli.terminal import DIM, GREEN, RED, YELLOW, paint, printable, width_of_terminal

ABSENT = "-"
GAP = 2
NARROWEST = 6

COLOURS = {
    "running": GREEN,
    "degraded": YELLOW,
    "unknown": YELLOW,
    "suspended": YELLOW,
    "crashed": RED,
    "failed": RED,
    "stopped": DIM,
}


def write_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns lines of columns. In a terminal, the widest columns are cut until everything fits."""
    cells = [[" ".join(printable(cell).split()) for cell in row] for row in [list(names), *rows]]
    widths = [max(columns_of(row[place]) for row in cells) for place in range(len(names))]
    _narrow(widths, width_of_terminal())
    lines = []
    for number, row in enumerate(cells):
        fitted = [_fit(cell, width) for cell, width in zip(row, widths)]
        padded = [_pad(cell, width) for cell, width in zip(fitted, widths)]
        painted = [paint(cell, COLOURS.get(cell.strip(), "") if number else DIM) for cell in padded[:-1]]
        last = paint(fitted[-1], COLOURS.get(fitted[-1], "") if number else DIM)
        lines.append((" " * GAP).join([*painted, last]).rstrip())
    return lines


def columns_of(text: str) -> int:
    """Returns the number of terminal columns. East Asian characters take two."""
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


def write_size(count: float | None) -> str:
    if count is None:
        return ABSENT
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"


def write_ago(at: datetime | None) -> str:
    """Returns for example `3 h`. Never negative, even if this machine's clock is wrong."""
    if at is None:
        return ABSENT
    seconds = max(0.0, (datetime.now(timezone.utc) - at).total_seconds())
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _narrow(widths: list[int], columns: int | None) -> None:
    if columns is None:
        return
    while sum(widths) + GAP * (len(widths) - 1) > columns and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1


def _fit(cell: str, width: int) -> str:
    if columns_of(cell) <= width:
        return cell
    kept = ""
    for character in cell:
        if columns_of(kept + character) > width - 1:
            break
        kept += character
    return f"{kept}…"


def _pad(cell: str, width: int) -> str:
    return cell + " " * (width - columns_of(cell))
