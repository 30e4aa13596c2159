"""Writes the lines of CSV files (RFC 4180) in which no spreadsheet takes text for a formula."""

import csv
import re
from collections.abc import Iterable

_FORMULA = re.compile(r"(^|[;\t\r\n])(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r\n])")
"""Where a cell begins that would be a formula: also behind what another program, or one in another language, takes for
a separator, and with the wide characters of East Asia."""


CONTENT_TYPE = "text/csv; charset=utf-8"


class _Echo:
    """A file for the CSV writer that returns each line."""

    def write(self, line: str) -> str:
        return line


_WRITER = csv.writer(_Echo(), lineterminator="\r\n")


def write_line(cells: Iterable[object]) -> str:
    """Returns one line. Agents and owners choose the names in it, so an apostrophe goes before what would calculate."""
    escaped = (
        _FORMULA.sub(lambda found: f"{found[1] or ''}'", cell) if isinstance(cell, str) else cell for cell in cells
    )
    line: str = _WRITER.writerow(escaped)
    return line
