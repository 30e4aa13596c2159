"""What the soak says of its curves. The soak itself takes hours (tests/chaos/README.md)."""

import os
from xml.etree import ElementTree

import pytest

from tests.chaos.matrix.faults import FAULTS
from tests.chaos.soak.__main__ import find_faults
from tests.chaos.soak.curves import Curve, count_descriptors, read_memory
from tests.chaos.soak.picture import draw

pytestmark = pytest.mark.one_database


def curve(*values: float, name: str = "memory", leeway: float = 5.0) -> Curve:
    return Curve(name, "MB", leeway, [(10.0 * number, value) for number, value in enumerate(values)])


@pytest.mark.parametrize(
    ("values", "is_flat"),
    [
        ((50, 90, 100, 100, 100, 100), True),  # it warms up, and stays
        ((100, 100, 100, 100, 104, 104), True),  # less than the leeway
        ((1000, 1000, 1000, 1000, 1100, 1100), True),  # less than growth allows
        ((100, 100, 100, 100, 130, 130), False),
        ((100, 110, 120, 130, 160, 190), False),
        ((100, 100, 300, 300, 100, 100), True),
        ((), True),
    ],
)
def test_a_curve_is_flat_that_does_not_grow_after_it_has_warmed_up(values: tuple[float, ...], *, is_flat: bool) -> None:
    assert curve(*values).is_flat is is_flat


def test_what_is_kept_by_intention_may_grow() -> None:
    assert curve(100, 100, 200, 300, 400, 500, name="rows of projects_event").is_flat


def test_the_picture_has_a_frame_for_each_curve() -> None:
    curves = [curve(1, 2, 3), curve(0, 0, 0, name="a < b & c"), curve(5, name="one point")]
    drawn = ElementTree.fromstring(draw(curves))
    space = "{http://www.w3.org/2000/svg}"
    assert len(drawn.findall(f"{space}polyline")) == len(drawn.findall(f"{space}rect")) == 3
    assert "a < b & c: at most 1 MB, 0 min" in [text.text for text in drawn.findall(f"{space}text")]


def test_a_process_is_measured() -> None:
    assert read_memory(os.getpid()) > 10
    assert count_descriptors(os.getpid()) >= 3


def test_the_soak_takes_only_faults_that_a_plain_installation_can_have() -> None:
    assert {FAULTS[name].kind for name in find_faults()} == {""}
