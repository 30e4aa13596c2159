"""Filters, search, order and pages of the list: what each address shows."""

import re
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from projects.dashboard.content.list_query import ListQuery, Order
from projects.dashboard.content.project_list import PAGE
from projects.models import Project
from projects.rules.status.lifecycle import Desired, Operation
from projects.rules.status.statuses import Status
from tests.projects.dashboard.many import make_projects, watch_well
from tests.projects.dashboard.pages import text_of

pytestmark = [pytest.mark.one_database, pytest.mark.usefixtures("still_clock")]
NOW = timezone.now


def in_flight(operation: Operation, **fields: Any) -> dict[str, Any]:
    later = NOW() + timedelta(seconds=30)
    return {"operation": operation, "operation_id": "0" * 32, "operation_deadline": later, **fields}


def columns_of() -> dict[Status, dict[str, Any]]:
    """Returns the columns of a project with each status."""
    down = {"container_state": "exited", "exit_code": 1, "finished_at": NOW()}
    return {
        Status.RUNNING: {},
        Status.DEGRADED: {"health": "unhealthy", "agent_state": "degraded", "agent_code": "provider_busy"},
        Status.STARTING: {"health": "starting"},
        Status.STOPPED: {"desired": Desired.STOPPED, **down},
        Status.CRASHED: {**down, "gave_up_at": NOW(), "crash_count": 5},
        Status.FAILED: {"container_state": "", "failure_code": "image_missing"},
        Status.SUSPENDED: {"suspended_at": NOW(), **down},
        Status.DEPLOYING: in_flight(Operation.DEPLOY, container_state=""),
        Status.RESTARTING: in_flight(Operation.RESTART),
        Status.STOPPING: in_flight(Operation.STOP, desired=Desired.STOPPED),
        Status.DELETING: in_flight(Operation.DELETE, desired=Desired.DELETED),
        Status.UNKNOWN: {"observed_at": NOW() - timedelta(hours=1), "updated_at": NOW(), "reconcile_failures": 1},
    }


@pytest.fixture
def one_of_each(alice: User, engine: Any) -> dict[Status, Project]:
    """A project in each status, newest first in the order of the enum."""
    engine.unavailable = True
    moods = columns_of()
    made = {status: make_projects(alice, 1, name=f"Is {status}", **moods[status])[0] for status in Status}
    for place, project in enumerate(made.values()):
        Project.objects.filter(pk=project.pk).update(created_at=NOW() - timedelta(hours=place))
    watch_well()
    return made


def names_on(answer: Any) -> list[str]:
    return [row.name for row in answer.context["list"].rows]


def test_the_chip_of_each_status_finds_only_that_status(dashboard: Client, one_of_each: dict[Status, Project]) -> None:
    text = text_of(dashboard.get("/"))
    assert "All 12" in text
    for status in Status:
        assert f"{status.label} 1" in text
        watch_well()
        narrow = dashboard.get("/", {"status": status.value})
        assert names_on(narrow) == [f"Is {status}"]
        assert re.search(rf'id="chip-{status.value}" [^>]* aria-current="true"', narrow.content.decode())
        assert f'form="find" name="status" value="{status.value}"' in narrow.content.decode()


def test_projects_in_trouble_come_first(dashboard: Client, alice: User, one_of_each: dict[Status, Project]) -> None:
    """A project between two crashes is in trouble, although its status changes."""
    make_projects(alice, 1, name="Is crashing", container_state="restarting", exit_code=1, health="none")
    watch_well()
    names = [name.removeprefix("Is ") for name in names_on(dashboard.get("/"))]
    assert set(names[:2]) == {"crashed", "failed"}
    assert set(names[2:4]) == {"degraded", "crashing"}
    assert names[4:6] == ["unknown", "suspended"]
    assert names[-2:] == ["running", "stopped"]
    assert "6 in need of attention" in text_of(dashboard.get("/"))


def test_other_orders(dashboard: Client, alice: User) -> None:
    for place, name in enumerate(("beta", "Alpha", "gamma")):
        [made] = make_projects(alice, 1, name=name)
        Project.objects.filter(pk=made.pk).update(created_at=NOW() - timedelta(hours=place))
    watch_well()
    shown = {order: names_on(dashboard.get("/", {"sort": order.value})) for order in Order}
    assert shown == {
        Order.TROUBLE: ["beta", "Alpha", "gamma"],
        Order.NEWEST: ["beta", "Alpha", "gamma"],
        Order.OLDEST: ["gamma", "Alpha", "beta"],
        Order.NAME: ["Alpha", "beta", "gamma"],
    }


def test_a_search_finds_names_bots_and_ids_and_the_chips_count_what_it_finds(dashboard: Client, alice: User) -> None:
    [one] = make_projects(alice, 1, name="Straße 7", bot_id=1, bot_username="Harbour_bot")
    make_projects(alice, 2, name="other")
    watch_well()
    for text in ("straße", "STRASSE 7", "@harbour", "r_bot", str(one.pk), str(one.pk)[:13], " Straße "):
        answer = dashboard.get("/", {"q": text})
        assert names_on(answer) == ["Straße 7"], text
        assert "All 1 Running 1" in text_of(answer)
    nothing = dashboard.get("/", {"q": "nowhere"})
    assert "No project matches. Show all" in text_of(nothing)
    assert "Deploy your first agent" not in text_of(nothing)


def test_a_chip_of_a_status_that_nothing_has_any_more_stays_to_be_left(dashboard: Client, alice: User) -> None:
    make_projects(alice, 1)
    watch_well()
    answer = dashboard.get("/", {"status": "crashed"})
    assert "Crashed 0" in text_of(answer)
    assert "No project matches." in text_of(answer)


def test_pages_hold_each_project_once_and_keep_the_query(dashboard: Client, alice: User) -> None:
    made = make_projects(alice, 2 * PAGE + 1)
    watch_well()
    seen, address, pages = [], "/?q=agent&sort=name", 0
    while address:
        answer = dashboard.get(address)
        seen += names_on(answer)
        pages += 1
        link = re.search(r'rel="next" href="([^"]+)"', answer.content.decode())
        address = link[1].replace("&amp;", "&") if link else ""
        assert not address or {"q=agent", "sort=name"} <= set(address.partition("?")[2].split("&"))
    assert (pages, seen) == (3, sorted(each.name for each in made))
    beyond = dashboard.get("/?page=99")
    assert len(names_on(beyond)) == 1
    assert "Page 3 of 3" in text_of(beyond)


NAMES = ("status", "q", "sort", "page", "order", "counts", "seen", "other")

HOSTILE = [
    "",
    "0",
    "-1",
    "1e3",
    "\uff19",
    "99999999999999999999",
    "x" * 5000,
    "\0",
    "%00",
    "'\"><b>",
    "ß\u202e",
    "null",
]


def test_no_query_string_is_an_error_or_reaches_the_page_unescaped(dashboard: Client, alice: User) -> None:
    make_projects(alice, 1)
    watch_well()
    for value, path in zip(HOSTILE, cycle(("/", "/projects/changes")), strict=False):
        answer = dashboard.get(path, dict.fromkeys(NAMES, value))
        assert answer.status_code == 200, (path, value)
        assert b"'\"><b>" not in answer.content


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("status", [None, Status.CRASHED])
@pytest.mark.parametrize(("text", "page"), [("", 1), ("a b&c=d#%", 3)])
def test_a_query_string_is_parsed_into_the_values_that_built_it(
    order: Order, status: Status | None, text: str, page: int
) -> None:
    from django.http import QueryDict

    query = ListQuery(status=status, text=text, order=order, page=page)
    assert ListQuery.read(QueryDict(query.address.removeprefix("?"))) == query
