"""`/metrics` says what the API and the events say, and no counter goes back, whatever has broken meanwhile."""

import urllib.request
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import psycopg

from tests.chaos.database.requests import Client
from tests.config.metrics.reading import Scrape
from tests.waiting import wait_until

OF_ROWS = ("berth_operations_total", "berth_crashes_total", "berth_llm_tokens_total", "berth_gateway_requests_total")
"""Counters that outlive every process."""

Numbers = Mapping[object, float]
Counted = dict[tuple[object, ...], float]


@dataclass(frozen=True)
class Agreement:
    """Of one installation: `clients` are of all who have projects there, `database` is asked past all that breaks."""

    port: int
    clients: Iterable[Client]
    database: str
    _counted: Counted = field(default_factory=dict)

    def require(self) -> None:
        """Raises `AssertionError`, also where the service is so busy that it changes between two questions."""
        before, told, after = self._ask(), self._scrape(), self._ask()
        assert before == after, "the service changed meanwhile"
        statuses, events = before
        operations, crashes = count_events(events, told)
        for counted, is_right in (
            (told.by("berth_projects", "status"), statuses),
            (told.by("berth_operations_total", "operation", "outcome"), operations),
            (told.by("berth_crashes_total", "reason"), crashes),
            ((told.value("berth_database_up"), told.value("berth_engine_up")), (1, 1)),
            (find_steps_back(self._counted, told), []),
        ):
            assert counted == is_right, f"{counted} is not {is_right}"

    def find_wrong(self, *, within: float) -> list[str]:
        """Nothing, once it holds."""
        last = ""

        def holds() -> bool:
            nonlocal last
            try:
                self.require()
            except (AssertionError, OSError, ValueError, psycopg.Error) as error:
                last = f"{error!r:.2000}"
                return False
            return True

        try:
            wait_until(holds, within=within, every=0.3)
        except AssertionError:
            return [f"/metrics does not agree with the API: {last}"]
        return []

    def _scrape(self) -> Scrape:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            return Scrape(answer.read().decode())

    def _ask(self) -> tuple[Numbers, list[tuple[str, str, int]]]:
        """How many projects the API lists with each status, and how often the events say what."""
        listed = [client.send("GET", "/api/projects") for client in self.clients]
        assert {answer.status for answer in listed} == {200}, listed
        assert not any("next" in answer.headers.get("link", "") for answer in listed), "there are further pages"
        statuses = Counter(project["status"] for answer in listed for project in answer.json)
        with psycopg.connect(self.database, connect_timeout=5) as connection:
            question = "SELECT action, outcome, count(*) FROM projects_event GROUP BY 1, 2 ORDER BY 1, 2"
            return statuses, connection.execute(question).fetchall()


def count_events(events: Iterable[tuple[str, str, int]], told: Scrape) -> tuple[Numbers, Numbers]:
    """Operations by their outcome and crashes by their reason, of those that are told, be it with a 0."""
    named = {label: {each.labels.get(label) for each in told.samples} for label in ("operation", "reason")}
    operations: Counter[object] = Counter()
    crashes: Counter[object] = Counter()
    for action, outcome, number in events:
        if action == "crash":
            crashes[outcome if outcome in named["reason"] else "other"] += number
        elif action in named["operation"] and outcome in {"done", "failed", "recorded", "nothing to do"}:
            operations[action, outcome] += number
        elif action == "deploy" and outcome != "warning":
            operations[action, "failed"] += number  # it says why in the place of that
    return operations, crashes


def find_steps_back(counted: Counted, told: Scrape) -> list[str]:
    """The counters that are less than they were, or gone. `counted` is what was told before, and is told of now."""
    now: Counted = {
        (each.name, *sorted(each.labels.items())): each.value for each in told.samples if each.name in OF_ROWS
    }
    back = [f"{key}: {value} and then {now.get(key)}" for key, value in counted.items() if now.get(key, -1.0) < value]
    counted.update(now)
    return back
