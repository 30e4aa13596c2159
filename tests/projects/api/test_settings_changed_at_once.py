"""Concurrent changes of the settings are all kept or refused."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from accounts.models import User
from projects.models import AgentType, Project
from projects.models.event import SYSTEM
from projects.services import ProjectChange, update_project
from projects.services.commands import update as service
from tests.problem_document import codes_of
from tests.projects.api.commands import Change


def test_a_change_that_came_in_between_is_not_undone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another request sets `allowed_users` after this change has read the settings, and before it writes."""
    ask = service._look_then_ask
    others: list[dict[str, Any]] = [{"allowed_users": [7]}, {"allowed_users": [7], "model": "theirs"}]

    def ask_slowly(*args: Any) -> Any:
        check = ask(*args)
        if others:
            Project.objects.filter(pk=project.pk).update(settings=others.pop(0))
        return check

    monkeypatch.setattr(service, "_look_then_ask", ask_slowly)
    update_project(project=project, change=ProjectChange(settings_patch={"instructions": "Mine."}), actor=SYSTEM)
    project.refresh_from_db()
    assert project.settings == {"allowed_users": [7], "model": "theirs", "instructions": "Mine."}


def test_a_change_that_came_in_between_and_contradicts_is_a_400(
    change: Change, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    AgentType.objects.update(settings_schema={"maxProperties": 1})
    ask = service._look_then_ask

    def ask_slowly(*args: Any) -> Any:
        Project.objects.filter(pk=project.pk).update(settings={"theirs": 1})
        return ask(*args)

    monkeypatch.setattr(service, "_look_then_ask", ask_slowly)
    assert codes_of(change(settings={"mine": 1})) == {("settings", "changed_meanwhile")}
    project.refresh_from_db()
    assert project.settings == {"theirs": 1}


@pytest.mark.django_db(transaction=True)
def test_changes_at_the_same_moment_are_all_kept(deploy: Callable[..., Project], alice: User) -> None:
    AgentType.objects.update(settings_schema={})
    project = deploy(settings={"allowed_users": [7]})
    failed: list[Exception] = []
    barrier = threading.Barrier(4)

    def send(name: str) -> None:
        try:
            mine = Project.objects.select_related("owner", "plan", "agent_type").get(pk=project.pk)
            barrier.wait(60)
            update_project(project=mine, change=ProjectChange(settings_patch={name: 1}), actor=SYSTEM)
        except Exception as error:  # noqa: BLE001 - reported below
            failed.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send, args=[f"x{number}"]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    project.refresh_from_db()
    assert project.settings == {"allowed_users": [7], "x0": 1, "x1": 1, "x2": 1, "x3": 1}
