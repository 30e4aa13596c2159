"""Allowances: staff set who may choose which plan and how many projects, and API and dashboard obey."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from accounts.models import User
from projects.models import Project
from tests.clients import api_of, browser_of
from tests.problem_document import assert_problem, codes_of, errors_of
from tests.projects.api.allowing import (
    allow,
    allow_somebody_else,
    body,
    both,
    by_api,
    by_dashboard,
    changed_by_api,
    changed_by_dashboard,
    closed,
    hire,
    make_default,
    open_to_all,
    promote,
    withdraw,
)
from tests.projects.api.test_catalogue import FREE


@dataclass(frozen=True)
class Rule:
    """What staff have set, and the number of projects on `pro` that follows. The plan itself allows three."""

    limit: int
    act: Callable[[User], Any]


RULES = {
    "nothing": Rule(0, closed),
    "open to all": Rule(3, open_to_all),
    "the default": Rule(3, make_default),
    "an allowance without a number": Rule(3, allow(None)),
    "an allowance of two": Rule(2, allow(2)),
    "an allowance of more than the plan": Rule(4, allow(4)),
    "an allowance of none": Rule(0, allow(0)),
    "open to all, but not to this one": Rule(0, both(open_to_all, allow(0))),
    "the default, but not for this one": Rule(0, both(make_default, allow(0))),
    "open to all, and more to this one": Rule(4, both(open_to_all, allow(4))),
    "an allowance of another plan": Rule(0, allow(5, "starter")),
    "somebody else's allowance": Rule(0, allow_somebody_else),
    "withdrawn": Rule(0, both(allow(2), withdraw)),
    "withdrawn while open": Rule(0, both(open_to_all, withdraw)),
    "the role of an admin": Rule(3, promote),
    "the role of an admin, and none": Rule(0, both(promote, allow(0))),
    "the role of staff": Rule(0, hire),
}


@pytest.mark.sampled(4)
@pytest.mark.one_database
@pytest.mark.parametrize("take", [by_api, by_dashboard, changed_by_api, changed_by_dashboard])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_user_gets_as_many_projects_as_staff_allow_through_every_channel(
    newcomer: User, rule: Rule, take: Callable[[User, int], int]
) -> None:
    rule.act(newcomer)
    newcomer.refresh_from_db()
    answers = [take(newcomer, number) for number in range(1, 7)]
    refused = 403 if rule.limit else 400
    assert answers == [201] * rule.limit + [refused] * (6 - rule.limit)
    assert Project.objects.filter(plan="pro").count() == rule.limit


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_plan_is_offered_with_its_number_to_permitted_users(newcomer: User, rule: Rule) -> None:
    rule.act(newcomer)
    newcomer.refresh_from_db()
    listed = {plan["slug"]: plan["max_projects"] for plan in api_of(newcomer).get("/api/plans").json()}
    assert listed.get("pro", 0) == rule.limit
    page = browser_of(newcomer).get("/projects/new").content.decode()
    assert ('name="plan" value="pro"' in page) == bool(rule.limit)
    assert not rule.limit or f"{rule.limit} of {rule.limit} left." in page
    answer = api_of(newcomer).post("/api/projects/validate", body(1))
    assert answer.status_code == (200 if rule.limit else 400)


def test_a_new_user_cannot_create_ten_projects_of_the_largest_plan(newcomer: User) -> None:
    api = api_of(newcomer)
    assert api.get("/api/plans").json() == [FREE]
    for number in range(1, 11):
        answer = api.post("/api/projects", body(number))
        assert codes_of(answer) == {("plan", "unknown_choice")}
        assert errors_of(answer)[0]["detail"] == "Choose one of: free."
    assert not Project.objects.exists()
    assert api.post("/api/projects", body(1, "free")).status_code == 201
    assert_problem(api.post("/api/projects", body(2, "free")), 403, "plan_limit_reached")


def test_a_user_without_any_plan_is_told_so(newcomer: User) -> None:
    allow(0, "free")(newcomer)
    [error] = errors_of(api_of(newcomer).post("/api/projects", body(1)))
    assert error["detail"] == "None is open to you. Ask the staff."
    sent = {name: value for name, value in body(1).items() if name != "plan"}
    [error] = errors_of(api_of(newcomer).post("/api/projects", sent))
    assert error["detail"] == "There is no default. None is open to you. Ask the staff."
    assert browser_of(newcomer).get("/projects/new").status_code == 200
