"""Whether a run that Docker lists can be the one that began at a known time."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from containers.docker.observations import is_run, read_rows
from containers.vocabulary import Observation
from tests.containers.docker.scripted_engine import ID, LABELS, NAME

BEGAN = datetime(2026, 11, 30, 12, tzinfo=UTC)
AGES = [0, 0.4, 1, 1.9, 2, 5, 30, 58.9, 59, 59.9, 60, 61, 89, 90, 119, 120, 3599, 3600, 5400, 86_400, 10**7, 10**9]
SLOW = timedelta(seconds=20)


def described(seconds: float) -> str:
    """An age as Docker words it: `HumanDuration` of docker/go-units."""
    whole, minutes, hours = int(seconds), int(seconds / 60), int(seconds / 3600 + 0.5)
    units = (
        (60, whole, "second"), (3600, minutes, "minute"), (48 * 3600, hours, "hour"), (336 * 3600, hours // 24, "day"),
        (1440 * 3600, hours // 168, "week"), (17_520 * 3600, hours // 720, "month"), (math.inf, hours // 8760, "year"),
    )  # fmt: skip
    number, unit = next((number, unit) for limit, number, unit in units if seconds < limit)
    special = {(0, "second"): "Less than a second", (1, "minute"): "About a minute", (1, "hour"): "About an hour"}
    return special.get((number, unit), f"{number} {unit}{'s' * (number != 1)}")


def listed(seconds: float, state: str = "running", suffix: str = "") -> Observation:
    row: dict[str, Any] = {
        "Id": ID, "Names": [f"/{NAME}"], "Created": 1795875942, "Labels": LABELS, "State": state,
        "Status": f"Up {described(seconds)}{suffix}", "HostConfig": {"NetworkMode": "n"},
        "NetworkSettings": {"Networks": {}},
    }  # fmt: skip
    return read_rows([row])[0]


@pytest.mark.parametrize("age", AGES)
def test_a_run_is_recognized_at_any_age(age: float) -> None:
    at = BEGAN + timedelta(seconds=age)
    for asked, answered in ((at, at), (at - SLOW, at), (at, at + SLOW), (at - SLOW, at + SLOW)):
        assert is_run(listed(age), BEGAN, (asked, answered))


@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize("since_restart", [0, 1, 5, 30, 59])
def test_for_a_minute_a_new_run_is_not_taken_for_the_known_one(age: float, since_restart: float) -> None:
    if age - since_restart > 4:
        at = BEGAN + timedelta(seconds=age)
        assert not is_run(listed(since_restart), BEGAN, (at, at))


@pytest.mark.parametrize(
    ("state", "suffix"),
    [
        ("running", " (healthy)"), ("running", " (unhealthy)"), ("running", " (health: starting)"),
        ("paused", " (Paused)"), ("exited", ""), ("restarting", ""), ("dead", ""), ("created", ""), ("removing", ""),
    ],
)  # fmt: skip
def test_only_running_containers_without_a_health_check_are_recognized(state: str, suffix: str) -> None:
    at = BEGAN + timedelta(seconds=7)
    assert not is_run(listed(7, state, suffix), BEGAN, (at, at))


def test_a_run_that_seems_to_begin_later_is_not_recognized() -> None:
    """The engine's clock may be another one."""
    for age in (5, 59, 60, 3600):
        early = BEGAN + timedelta(seconds=age) - timedelta(minutes=5)
        assert not is_run(listed(age), BEGAN, (early, early)) or age == 3600
