"""An account is deleted completely, with its agents, and only by its user."""

from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.sessions.models import Session
from django.test import Client

from accounts import clock
from accounts.errors import InvalidTokenError
from accounts.models import ApiKey, OpenSession, OutgoingMail, User
from projects.models import Actor, Event, Project
from projects.rules.status.lifecycle import Action, Desired
from projects.services import control_project, suspend_project
from projects.services.account.deletion import ITSELF, carry_on, delete_account, finish_closed_accounts
from projects.watcher.upkeep.chores import do_chores
from tests.accounts.phone import Phone
from tests.canaries import CANARY_PASSWORD
from tests.clients import api_of, browser_of
from tests.deploying import PROJECT, deploy_project
from tests.factories import ApiKeyFactory, plain_key
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import look

PATH = "/settings/delete"
STAFF = Actor(label="sam@example.com", source="admin")


def delete(client: Client, **fields: str) -> Any:
    return client.post(PATH, {"password": CANARY_PASSWORD, **fields})


def closed(user: User) -> bool:
    return User.objects.exclude(closed_at=None).filter(pk=user.pk, is_active=False).exists()


def test_an_account_without_projects_is_deleted_at_once(alice: User, bob: User) -> None:
    client, other = browser_of(alice), browser_of(alice)
    key, token = ApiKeyFactory.create(user=alice), api_of(alice)
    OutgoingMail.objects.create(kind="agent", user_id=alice.pk)
    assert delete(client).headers["Location"] == "/sign-in"
    assert "Your account is deleted." in client.get("/sign-in").content.decode()
    assert list(User.objects.all()) == [bob]
    assert not [model for model in (ApiKey, OpenSession, OutgoingMail) if model._default_manager.exists()]
    assert other.get("/settings").status_code == 302
    assert token.get("/api/projects").status_code == 401
    assert Client().get("/api/projects", headers={"Authorization": f"Bearer {plain_key(key)}"}).status_code == 401
    assert browser_of(bob).get("/settings").status_code == 200


def test_agents_go_first_and_the_account_with_the_last(alice: User, engine: MemoryEngine) -> None:
    project = deploy_project(api_of(alice))
    client, token = browser_of(alice), api_of(alice)
    assert delete(client).headers["Location"] == "/sign-in"
    assert "Your agents are being removed" in client.get("/sign-in").content.decode()
    assert closed(alice)
    assert token.get("/api/projects").status_code == 401
    assert "wrong" in client.post("/sign-in", {"email": alice.email, "password": CANARY_PASSWORD}).content.decode()
    look()
    assert not engine.containers
    finish_closed_accounts()
    assert not User.objects.exists()
    assert list(Event.objects.filter(project_id=project.pk, action="delete").values_list("actor", "outcome")) == [
        (alice.email, "recorded")
    ]


def test_a_silent_engine_and_a_killed_process_leave_nothing_by_half(
    alice: User, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy_project(api_of(alice))
    engine.unavailable = True
    with monkeypatch.context() as patch:
        patch.setattr("projects.services.account.deletion.carry_on", lambda *_: False)  # killed after the first step
        delete(browser_of(alice))
    assert closed(alice)
    assert Project.objects.get().desired == Desired.RUNNING
    do_chores()
    assert Project.objects.get().desired == Desired.DELETED
    assert closed(alice)
    engine.unavailable = False
    look()
    do_chores()
    assert not User.objects.exists()
    assert not engine.containers


def test_deletion_requires_the_password_the_code_and_a_form(alice: User, phone: Phone) -> None:
    assert "not your password" in delete(browser_of(alice), password="wrong").content.decode()
    assert delete(Client(enforce_csrf_checks=True)).status_code == 403
    phone.enrol(alice)
    client = browser_of(User.objects.get())
    assert delete(client, code=phone.wrong_code()).status_code == 200
    assert delete(client).status_code == 200
    assert not closed(alice)
    assert delete(client, code=phone.next_code()).status_code == 302
    assert not User.objects.exists()


@pytest.mark.parametrize("who", ["sam", "ada", "once"])
def test_staff_and_admins_are_kept(request: pytest.FixtureRequest, who: str) -> None:
    user = request.getfixturevalue("alice" if who == "once" else who)
    if who == "once":
        LogEntry.objects.create(user=user, action_flag=CHANGE, object_repr="x")
    client = browser_of(user)
    for answer in (client.get(PATH), delete(client)):
        assert answer.status_code == 409
        assert "Ask an admin" in answer.content.decode()
    assert User.objects.get(pk=user.pk).is_active


def test_an_account_with_a_suspended_project_is_kept(alice: User) -> None:
    project = deploy_project(api_of(alice))
    suspend_project(project=project, actor=STAFF)
    assert "is suspended" in delete(browser_of(alice)).content.decode()
    assert not closed(alice)


def test_a_project_that_is_suspended_at_that_moment_stays_for_the_staff(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = deploy_project(api_of(alice))
    with monkeypatch.context() as patch:
        patch.setattr("projects.services.account.deletion.carry_on", lambda *_: False)
        delete(browser_of(alice))
    suspend_project(project=Project.objects.get(), actor=STAFF)
    do_chores()
    assert closed(alice)
    assert Project.objects.get(pk=project.pk).desired == Desired.RUNNING


def test_one_of_two_deletions_at_once_succeeds(alice: User) -> None:
    session = browser_of(alice).session
    actor = Actor(label=alice.email, source="dashboard")
    first, second = User.objects.get(), User.objects.get()
    assert delete_account(user=first, session=session, actor=actor)
    with pytest.raises(InvalidTokenError):
        delete_account(user=second, session=session, actor=actor)
    assert not Session.objects.filter(session_key=session.session_key).exists()


def test_a_running_deploy_leaves_nothing_behind(alice: User, engine: MemoryEngine) -> None:
    """The account is closed when the deploy has its row, and before its container is created."""
    client = browser_of(alice)

    def close(*_: Any) -> None:
        engine.slow("deploy", None)
        assert delete(client).status_code == 302

    engine.slow("deploy", close)
    api_of(alice).post("/api/projects", PROJECT)
    look()
    do_chores()
    assert not User.objects.exists()
    assert not engine.containers


def test_a_deploy_without_a_row_yet_creates_none(alice: User, engine: MemoryEngine) -> None:
    """The account is gone when the deploy has made its calls to outside servers."""
    client, api = browser_of(alice), api_of(alice)

    def close(*_: Any) -> None:
        engine.slow("image_exists", None)
        assert delete(client).status_code == 302

    engine.slow("image_exists", close)
    answer = api.post("/api/projects", PROJECT | {"plan": "free"})
    assert (answer.status_code, answer.json()["detail"]) == (409, "The account is being deleted.")
    assert not Project.objects.exists()
    assert not engine.containers


def test_a_closed_account_starts_nothing(alice: User) -> None:
    deploy_project(api_of(alice))
    delete(browser_of(alice))
    with pytest.raises(Exception, match=r"deleted|suspended|carried out"):
        control_project(project=Project.objects.get(), action=Action.START, actor=STAFF)


@pytest.mark.parametrize("again", [{"is_active": True}, {"is_staff": True}, {"is_superuser": True}, {}])
def test_a_reactivated_user_or_a_staff_member_is_kept(alice: User, again: dict[str, bool]) -> None:
    User.objects.filter(pk=alice.pk).update(**{"is_active": False, "closed_at": clock.now(), **again})
    if not again:  # became one of the staff meanwhile
        LogEntry.objects.create(user=alice, action_flag=CHANGE, object_repr="x")
    finish_closed_accounts()
    assert not carry_on(alice, ITSELF)
    assert User.objects.filter(pk=alice.pk).exists()


def test_agents_of_an_account_that_is_used_again_are_kept(alice: User) -> None:
    deploy_project(api_of(alice))
    User.objects.filter(pk=alice.pk).update(closed_at=clock.now())
    do_chores()
    assert Project.objects.get().desired == Desired.RUNNING
