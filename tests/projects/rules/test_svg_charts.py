"""Curves of measurements."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from projects.rules.svg_charts import Span, draw_bars, draw_line, place_of, round_up, round_up_bytes

pytestmark = pytest.mark.one_database

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "top"),
    [(0, 1), (0.3, 1), (1, 1), (1.1, 2), (2.1, 5), (5, 5), (5.1, 10), (11, 20), (60, 100), (100, 100), (101, 200)],
)
def test_the_upper_end_of_a_drawing_is_a_number_that_reads_well(value: float, top: float) -> None:
    assert round_up(value) == top


@pytest.mark.parametrize(
    ("size", "top"), [(0, 1024), (1025, 2048), (300 << 10, 500 << 10), (501 << 10, 1 << 20), (2**60, 1 << 60)]
)
def test_an_axis_of_bytes_ends_at_a_round_number_of_its_unit(size: float, top: int) -> None:
    assert round_up_bytes(size) == top


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ([], ""),
        ([None, None], ""),
        ([0, 4, 2], "M0 100L1 0L2 50"),
        ([1, None, 2, 3, None, None, 4], "M0 75h0M2 50L3 25M6 0h0"),
        ([8, -8], "M0 0L1 100"),
    ],
    ids=str,
)
def test_a_line_has_gaps_for_missing_samples(values: list[float | None], path: str) -> None:
    assert draw_line(values, top=4) == path


def test_bars_are_at_their_hours_and_zero_draws_no_bar() -> None:
    begin = NOON - timedelta(minutes=30)
    place: Any = {"begin": begin, "step": Span.HOUR.step, "number": Span.HOUR.number}
    hours = [(NOON + timedelta(hours=number), value) for number, value in ((-1, 5), (0, 10), (1, 0))]
    bars = [(place_of(at, **place), place_of(at + timedelta(hours=1), **place), value) for at, value in hours]
    assert draw_bars(bars, top=10) == "M0 100V50H30V100zM30 100V0H60V100z"


@pytest.mark.parametrize("span", Span)
def test_a_drawing_has_few_enough_points_for_a_telephone(span: Span) -> None:
    assert span.number * span.step == span.length
    assert 60 <= span.number <= 200
