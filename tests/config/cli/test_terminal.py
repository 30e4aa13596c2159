"""Output for people: tables that fit, colours if wanted, and nothing that controls the terminal."""

import sys

import pytest

from berth_cli.documents import moment, seconds_between
from berth_cli.tables import columns_of, write_ago, write_size, write_table
from berth_cli.terminal import paint, printable

pytestmark = pytest.mark.one_database

ROWS = [["A name that is rather long for a column", "running", "0123456789"], ["港口领航员" * 4, "crashed", "1"]]


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_a_table_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr("berth_cli.tables.width_of_terminal", lambda: columns)
    lines = write_table(["NAME", "STATUS", "ID"], ROWS)
    assert max(map(columns_of, lines)) <= max(columns, 22)
    assert len({line.find(word) for line, word in zip(lines[:1], ["STATUS"], strict=True)}) == 1


def test_elsewhere_nothing_is_cut() -> None:
    assert ROWS[0][0] in write_table(["NAME", "STATUS", "ID"], ROWS)[1]


def test_a_value_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b[2J\x07\r\u202eb\x9b1m") == "a�[2J���b�1m"
    assert write_table(["A"], [["one\nrow\x1b[1m"]])[1] == "one row�[1m"


def test_colours_are_used_only_on_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert paint("running", "32") == "running"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert paint("running", "32") == "\x1b[32mrunning\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("running", "32") == "running"


def test_figures_are_shown_in_readable_units() -> None:
    assert [write_size(size) for size in (None, 0, 1023, 1536, 48 << 20, 5 << 40)] == [
        "-", "0 B", "1023 B", "1.5 KB", "48.0 MB", "5120 GB"
    ]  # fmt: skip
    assert write_ago(None) == "-"
    assert write_ago(moment({"at": "2999-01-01T00:00:00Z"}, "at")) == "0 s"
    times = {"a": "2026-01-01T00:00:00.250000Z", "b": "2026-01-01T00:00:01Z", "c": "no"}
    assert seconds_between(times, "a", "b") == 0.75
    assert seconds_between(times, "b", "a") is seconds_between(times, "a", "c") is None
