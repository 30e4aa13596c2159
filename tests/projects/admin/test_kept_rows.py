"""The admin's pages that delete rows: what goes with a row, and what keeps one."""

import html
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from accounts.models import KnownNetwork, OpenSession, RecoveryCode, SecondFactor, User
from projects.models import AgentType, AlertChannel, Allowance, Batch, IdempotencyRecord, Plan, Project
from projects.models.processes.long_request import LongRequest
from projects.rules.alerts import Way
from tests.clients import browser_of
from tests.factories import ApiKeyFactory, UserFactory

pytestmark = pytest.mark.one_database

Make = Callable[[User], Any]


@pytest.fixture
def admin(ada: User) -> Client:
    return browser_of(ada)


def address_of(model: type[Model]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def ask(admin: Client, row: Model, **form: str) -> list[Any]:
    """The answers of the page of the row, and of the action of the list. With `post="yes"` both are confirmed."""
    address = address_of(type(row))
    page = f"{address}{row.pk}/delete/"
    chosen = {"action": "delete_selected", "_selected_action": [str(row.pk)], **form}
    return [admin.post(page, form) if form else admin.get(page), admin.post(address, chosen)]


def assert_kept(admin: Client, row: Model, *sentences: str) -> None:
    for asked in (*ask(admin, row), *ask(admin, row, post="yes")):
        text = html.unescape(asked.content.decode())
        for sentence in sentences:
            assert sentence in text
        assert "permission" not in text
        assert 'name="post"' not in text
    assert type(row)._default_manager.filter(pk=row.pk).exists()


def _make_session(user: User) -> OpenSession:
    return OpenSession.objects.create(
        user=user, kind="api", token="t" * 32, ends_at=timezone.now(), session_version=1, program="p"
    )


GOING: dict[str, Make] = {
    "accounts.ApiKey": lambda user: ApiKeyFactory.create(user=user, revoked=True),
    "accounts.SecondFactor": lambda user: SecondFactor.objects.create(user=user, secret_ciphertext="x", last_step=1),
    "accounts.RecoveryCode": lambda user: RecoveryCode.objects.create(user=user, digest="d" * 64),
    "accounts.KnownNetwork": lambda user: KnownNetwork.objects.create(
        user=user, network="203.0.113.0/24", used_at=timezone.now()
    ),
    "accounts.OpenSession": _make_session,
    "projects.Allowance": lambda user: Allowance.objects.create(user=user, plan_id="pro", max_projects=1),
    "projects.AlertChannel": lambda user: AlertChannel.objects.create(user=user, way=Way.WEBHOOK, target="x"),
    "projects.IdempotencyRecord": lambda user: IdempotencyRecord.objects.create(
        owner=user, key="k", digest="d" * 64, project_id=uuid4(), answer="{}"
    ),
    "projects.LongRequest": lambda user: LongRequest.objects.create(owner=user, held_until=timezone.now()),
}
"""What goes with its user."""

KEEPING: dict[str, tuple[Make, str]] = {
    "admin.LogEntry": (lambda user: LogEntry.objects.create(user=user, action_flag=CHANGE), "has acted as staff"),
    "projects.Batch": (lambda user: Batch.objects.create(by=user, action="stop"), "has acted as staff"),
}
"""What its user is kept for, and what the pages say. A project has tests of its own."""


def test_everything_that_refers_to_a_user_is_listed() -> None:
    referring = {
        model._meta.label
        for model in apps.get_models()
        for column in model._meta.concrete_fields
        if column.related_model is User
    }
    assert referring == {*GOING, *KEEPING, "projects.Project"}


@pytest.mark.parametrize("way", [0, 1], ids=["page", "list"])
@pytest.mark.parametrize("label", GOING)
def test_what_is_a_user_s_own_goes_with_the_user(admin: Client, label: str, way: int) -> None:
    user = UserFactory.create()
    row = GOING[label](user)
    assert 'name="post" value="yes"' in ask(admin, user)[way].content.decode()
    ask(admin, user, post="yes")
    assert not User.objects.filter(pk=user.pk).exists()
    assert not type(row)._default_manager.filter(pk=row.pk).exists()


def test_the_token_of_the_api_docs_goes_with_its_user(admin: Client) -> None:
    user = UserFactory.create()
    assert browser_of(user).post("/settings/token-for-docs").status_code == 200
    assert ask(admin, user, post="yes")[0].status_code == 302
    assert not User.objects.filter(pk=user.pk).exists()


@pytest.mark.parametrize("rights", [{"is_staff": True}, {"is_staff": True, "is_superuser": True}, {}], ids=str)
@pytest.mark.parametrize("label", KEEPING)
def test_who_has_acted_as_staff_is_kept(admin: Client, label: str, rights: dict[str, bool]) -> None:
    user = UserFactory.create(**rights)
    make, why = KEEPING[label]
    row = make(user)
    assert_kept(admin, user, f"{user} {why}", "Untick “active”")
    assert type(row)._default_manager.filter(pk=row.pk).exists()


def test_who_acts_as_staff_after_the_question_is_kept(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    user = UserFactory.create()
    monkeypatch.setattr("accounts.admin.users.UserAdmin.describe_kept", lambda *_: "")
    LogEntry.objects.create(user=user, action_flag=CHANGE)
    assert [answer.status_code for answer in ask(admin, user, post="yes")] == [403, 403]
    assert User.objects.filter(pk=user.pk).exists()


def test_an_owner_is_kept_with_advice(admin: Client, alice: User, project: Project) -> None:
    assert_kept(admin, alice, "owns projects. Untick “active”", "or delete their projects first")
    Project.objects.update(desired="deleted")
    assert_kept(admin, alice, "are still being deleted")


def test_one_of_several_is_kept_and_so_are_the_others(admin: Client, ada: User, alice: User, project: Project) -> None:
    bob = UserFactory.create()
    chosen = {"action": "delete_selected", "_selected_action": [str(user.pk) for user in (ada, alice, bob)]}
    for form in ({}, {"post": "yes"}):
        text = html.unescape(admin.post(address_of(User), {**chosen, **form}).content.decode())
        assert "You cannot delete your own account here." in text
        assert f"{alice} owns projects." in text
        assert f"{bob} " not in text
    assert User.objects.filter(pk__in=[ada.pk, alice.pk, bob.pk]).count() == 3


@pytest.mark.parametrize(("model", "slug"), [(Plan, "free"), (AgentType, "assistant")])
def test_what_projects_use_is_kept_with_advice(admin: Client, project: Project, model: Any, slug: str) -> None:
    Project.objects.update(plan_id="free")
    row = model.objects.get(pk=slug)
    assert_kept(admin, row, f"“{row}” is in use", "Untick “available”")
    Project.objects.update(desired="deleted")
    assert_kept(admin, row, "are still being deleted")


def test_staff_learn_which_allowances_they_may_not_delete(sam: User, ada: User) -> None:
    row = Allowance.objects.filter(user=ada)[0]
    asked = ask(browser_of(sam), row)[1]
    assert f"You may not delete “{row}”." in html.unescape(asked.content.decode())
