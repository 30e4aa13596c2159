"""The soak's judgement of its curves and of /metrics. The soak itself takes hours (tests/chaos/README.md)."""

import os
from xml.etree import ElementTree

import pytest

from tests.chaos.agreement import Agreement
from tests.chaos.matrix.faults import FAULTS
from tests.chaos.soak.__main__ import find_faults
from tests.chaos.soak.curves import Curve, count_descriptors, read_memory
from tests.chaos.soak.picture import draw
from tests.config.metrics.reading import Scrape

pytestmark = pytest.mark.one_database


def curve(*values: float, name: str = "memory", leeway: float = 5.0) -> Curve:
    return Curve(name, "MB", leeway, [(10.0 * number, value) for number, value in enumerate(values)])


@pytest.mark.parametrize(
    ("values", "is_flat"),
    [
        (
            (50, 90, 100, 100, 100, 100),
            True,
        ),  # it warms up, and then grows by less than the leeway, or by less than is allowed
        ((100, 100, 100, 100, 104, 104), True),  # less than the leeway
        ((1000, 1000, 1000, 1000, 1100, 1100), True),  # less than growth allows
        ((100, 100, 100, 100, 130, 130), False),
        ((100, 110, 120, 130, 160, 190), False),
        ((100, 100, 300, 300, 100, 100), True),
        ((), True),
    ],
)
def test_a_curve_that_does_not_grow_after_warming_up_is_flat(values: tuple[float, ...], *, is_flat: bool) -> None:
    assert curve(*values).is_flat is is_flat


def test_figures_kept_on_purpose_may_grow() -> None:
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


def test_the_soak_draws_only_faults_of_a_plain_installation() -> None:
    assert {FAULTS[name].kind for name in find_faults()} == {""}


NONE, ONE, TWO = ({str(number): "running" for number in range(many)} for many in range(3))


def find_wrong(
    monkeypatch: pytest.MonkeyPatch, looks: list[dict[str, str]], *, running: int = 1, started: int = 1, engine: int = 1
) -> list[str]:
    """`looks` are the lists one after another, the last of them forever, with as many starts as agents."""
    told = Scrape(
        f'berth_projects{{status="running"}} {running}\nberth_operations_total{{operation="start",outcome="done"}} '
        f'{started}\nberth_crashes_total{{reason="other"}} 0\nberth_database_up 1\nberth_engine_up {engine}\n'
    )
    left = list(looks)

    def ask(_: Agreement) -> tuple[dict[str, str], list[tuple[str, str, int]]]:
        listed = left.pop(0) if len(left) > 1 else left[0]
        return listed, [("start", "done", len(listed))]

    monkeypatch.setattr(Agreement, "_ask", ask)
    monkeypatch.setattr(Agreement, "_scrape", lambda _: told)
    return Agreement(0, [], "").find_wrong(within=0.1)


def test_api_engine_and_database_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_wrong(monkeypatch, [ONE]) == []


@pytest.mark.parametrize("running", [0, 1, 2])
def test_a_service_that_changes_during_the_comparison_is_not_a_liar(
    monkeypatch: pytest.MonkeyPatch, running: int
) -> None:
    assert find_wrong(monkeypatch, [NONE, TWO] * 1000, running=running) == []


@pytest.mark.parametrize("looks", [[ONE], [NONE, ONE] * 1000], ids=["quiet", "busy"])
@pytest.mark.parametrize("lie", [{"running": 2}, {"started": 2}, {"engine": 0}], ids=str)
def test_a_lie_is_found_also_while_the_service_changes(
    monkeypatch: pytest.MonkeyPatch, looks: list[dict[str, str]], lie: dict[str, int]
) -> None:
    assert "/metrics does not agree" in "".join(find_wrong(monkeypatch, looks, **lie))


def test_an_agent_that_changed_does_not_hide_the_lies_about_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_wrong(monkeypatch, [TWO, TWO | {"1": "stopped"}] * 1000, running=0, started=2) != []
