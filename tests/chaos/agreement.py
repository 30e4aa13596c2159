"""`/metrics` agrees with the API and the events, and no counter goes back, no matter what has broken meanwhile."""

import urllib.request
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.chaos.database.requests import Client
from tests.config.metrics.reading import Scrape
from tests.waiting import wait_until

OF_ROWS = ("berth_operations_total", "berth_crashes_total", "berth_llm_tokens_total", "berth_gateway_requests_total")
"""Counters that outlive every process."""

BOTH_UP: Mapping[object, float] = {"database": 1, "engine": 1}

Numbers = Mapping[object, float]
Statuses = Mapping[str, str]
Counted = dict[tuple[object, ...], float]


@dataclass(frozen=True)
class Agreement:
    """The checks of one installation: `clients` are those of all users with projects there;
    `database` is read past all faults."""

    port: int
    clients: Iterable[Client]
    database: str
    _counted: Counted = field(default_factory=dict)

    def require(self) -> bool:
        """Returns whether nothing changed during the check. Raises `AssertionError` if a reported number was true at no
        moment.

        Each number must lie between the readings before and after it, which are equal if nothing changed.
        """
        before, told, after = self._ask(), self._scrape(), self._ask()
        counts: tuple[Mapping[Any, float | None], ...] = (
            told.by("berth_projects", "status"),
            told.by("berth_operations_total", "operation", "outcome"),
            told.by("berth_crashes_total", "reason"),
            {"database": told.value("berth_database_up"), "engine": told.value("berth_engine_up")},
        )
        kept, seen = bound_statuses(before[0], after[0])
        fewest, most = (kept, *count_events(before[1], told), BOTH_UP), (seen, *count_events(after[1], told), BOTH_UP)
        for counted, low, high in zip(counts, fewest, most, strict=True):
            outside = find_outside(counted, low, high)
            assert not outside, f"{counted} is not between {low} and {high}: {outside}"
        back = find_steps_back(self._counted, told)
        assert not back, back
        return before == after

    def find_wrong(self, *, within: float) -> list[str]:
        """Returns nothing once everything agrees; if the service changes at each check,
        it is enough that what did not change agrees."""
        last = ""

        def holds() -> bool:
            nonlocal last
            try:
                is_quiet = self.require()
            except (AssertionError, OSError, ValueError, psycopg.Error) as error:
                last = f"{error!r:.2000}"
                return False
            last = ""
            return is_quiet

        try:
            wait_until(holds, within=within, every=0.3)
        except AssertionError:
            return [f"/metrics does not agree with the API: {last}"] if last else []
        return []

    def _scrape(self) -> Scrape:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            return Scrape(answer.read().decode())

    def _ask(self) -> tuple[Statuses, list[tuple[str, str, int]]]:
        """Returns the status of each project that the API lists, and how often there was each kind of event."""
        listed = [client.send("GET", "/api/projects") for client in self.clients]
        assert {answer.status for answer in listed} == {200}, listed
        assert not any("next" in answer.headers.get("link", "") for answer in listed), "there are further pages"
        statuses = {project["id"]: project["status"] for answer in listed for project in answer.json}
        with psycopg.connect(self.database, connect_timeout=5) as connection:
            question = "SELECT action, outcome, count(*) FROM projects_event GROUP BY 1, 2 ORDER BY 1, 2"
            return statuses, connection.execute(question).fetchall()


def bound_statuses(before: Statuses, after: Statuses) -> tuple[Numbers, Numbers]:
    """Returns the least and the greatest number of projects with each status between two readings."""
    kept = Counter(status for project, status in before.items() if after.get(project) == status)
    seen = Counter(status for _, status in {*before.items(), *after.items()})
    return Counter[object](kept), Counter[object](seen)


def find_outside(counted: Mapping[Any, float | None], least: Numbers, most: Numbers) -> list[object]:
    """Returns what was counted less often, or more often, than it was at any moment in between."""
    names = {*counted, *least, *most}
    return [name for name in names if not least.get(name, 0) <= (counted.get(name) or 0) <= most.get(name, 0)]


def count_events(events: Iterable[tuple[str, str, int]], told: Scrape) -> tuple[Numbers, Numbers]:
    """Counts operations by outcome and crashes by reason, for all reported ones, including those with 0."""
    named = {label: {each.labels.get(label) for each in told.samples} for label in ("operation", "reason")}
    operations: Counter[object] = Counter()
    crashes: Counter[object] = Counter()
    for action, outcome, number in events:
        if action == "crash":
            crashes[outcome if outcome in named["reason"] else "other"] += number
        elif action in named["operation"] and outcome in {"done", "failed", "recorded", "nothing to do"}:
            operations[action, outcome] += number
        elif action == "deploy" and outcome != "warning":
            operations[action, "failed"] += number  # it says the reason there instead
    return operations, crashes


def find_steps_back(counted: Counted, told: Scrape) -> list[str]:
    """Returns the counters that are lower than before, or gone. `counted` has the earlier values and is updated."""
    now: Counted = {
        (each.name, *sorted(each.labels.items())): each.value for each in told.samples if each.name in OF_ROWS
    }
    back = [f"{key}: {value} and then {now.get(key)}" for key, value in counted.items() if now.get(key, -1.0) < value]
    counted.update(now)
    return back
