"""Helpers for allowances of plans, and the ways in which a user chooses a plan."""

import uuid
from collections.abc import Callable
from typing import Any

from accounts.models import User
from projects.models import Actor, AgentType, Allowance, Plan, Project
from tests.clients import api_of, browser_of
from tests.deploying import PROJECT
from tests.factories import UserFactory

ACTOR = Actor(label="new@example.com", source="session")


def closed(user: User) -> None:
    """Every plan except the default one starts like this."""


def open_to_all(user: User) -> None:
    Plan.objects.filter(slug="pro").update(open_to_all=True)


def allow(number: int | None, plan: str = "pro") -> Callable[[User], Any]:
    return lambda user: Allowance.objects.create(user=user, plan_id=plan, max_projects=number)


def both(*acts: Callable[[User], Any]) -> Callable[[User], None]:
    def act(user: User) -> None:
        for each in acts:
            each(user)

    return act


def withdraw(user: User) -> None:
    Plan.objects.filter(slug="pro").update(available=False)


def make_default(user: User) -> None:
    Plan.objects.update(is_default=False)
    Plan.objects.filter(slug="pro").update(is_default=True)


def promote(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)


def hire(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_staff=True)


def allow_somebody_else(user: User) -> None:
    allow(5)(UserFactory.create())


def body(number: int, plan: str = "pro") -> dict[str, Any]:
    return PROJECT | {"plan": plan, "telegramToken": f"{number}:token"}


def form(number: int, plan: str = "pro") -> dict[str, Any]:
    secrets = {"telegram_token": f"{number}:token", "api_key": PROJECT["apiKey"]}
    return {"id": str(uuid.uuid4()), "name": "Pilot", "type": "assistant", "plan": plan, **secrets}


def by_api(user: User, number: int) -> int:
    return int(api_of(user).post("/api/projects", body(number)).status_code)


def by_dashboard(user: User, number: int) -> int:
    status = browser_of(user).post("/projects/new", form(number)).status_code
    return 201 if status == 302 else status


def changed_by_api(user: User, number: int) -> int:
    """Returns the answer to moving a project on another plan to this one."""
    status = api_of(user).patch(f"/api/projects/{_on_free(user, number).pk}", {"plan": "pro"}).status_code
    return 201 if status == 200 else int(status)


def changed_by_dashboard(user: User, number: int) -> int:
    path = f"/projects/{_on_free(user, number).pk}/change"
    status = browser_of(user).post(path, {"name": "Pilot", "plan": "pro"}).status_code
    return 201 if status == 302 else status


def _on_free(user: User, number: int) -> Project:
    return Project.objects.create(
        owner=user, instance="berth", name="Pilot", bot_id=number, desired="stopped",
        agent_type=AgentType.objects.get(slug="assistant"), plan=Plan.objects.get(slug="free"),
    )  # fmt: skip
