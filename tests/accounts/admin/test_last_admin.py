"""An admin always remains, also if two admins act on each other at the same moment."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from accounts.admin import users as admin_users
from accounts.models import User
from accounts.services.admins import lock_admins
from tests.clients import browser_of

USERS = "/admin/accounts/user/"


def take(by: Client, whom: User, way: str) -> Any:
    """Takes the rights of an admin in one of the ways that the admin offers."""
    page, form = f"{USERS}{whom.pk}/", {"email": whom.email, "notes": ""}
    match way:
        case "demote":
            return by.post(f"{page}change/", {**form, "is_active": "on"})
        case "make staff":
            return by.post(f"{page}change/", {**form, "is_active": "on", "is_staff": "on"})
        case "deactivate":
            return by.post(f"{page}change/", {**form, "is_staff": "on", "is_superuser": "on"})
        case "delete":
            return by.post(f"{page}delete/", {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": [str(whom.pk)], "post": "yes"}
    return by.post(USERS, chosen)


WAYS = ("demote", "make staff", "deactivate", "delete", "delete several")


@pytest.fixture
def admins(db: None, make_admins: Callable[[], list[User]]) -> list[User]:
    return make_admins()


@pytest.fixture
def make_admins() -> Callable[[], list[User]]:
    def make() -> list[User]:
        return [User.objects.create_superuser(f"admin{number}@example.com", "a long phrase") for number in (1, 2)]

    return make


@pytest.mark.parametrize("way", WAYS)
def test_an_admin_takes_another_s_rights(admins: list[User], way: str) -> None:
    one, two = admins
    assert take(browser_of(one), two, way).status_code == 302
    assert list(User.objects.filter(is_superuser=True, is_active=True)) == [one]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "lost", [{"is_superuser": False}, {"is_active": False}, {"is_staff": False, "is_superuser": False}]
)
def test_who_has_lost_their_rights_meanwhile_takes_nobody_s(
    admins: list[User], monkeypatch: pytest.MonkeyPatch, way: str, lost: dict[str, bool]
) -> None:
    """The rights are lost after the request was let in, and before it locks the admins."""
    one, two = admins

    def lose_and_lock(**also: Any) -> Any:
        User.objects.filter(pk=one.pk).update(**lost)
        return lock_admins(**also)

    monkeypatch.setattr(admin_users, "lock_admins", lose_and_lock)
    assert take(browser_of(one), two, way).status_code == 403
    two.refresh_from_db()
    assert (two.is_active, two.is_staff, two.is_superuser) == (True, True, True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", WAYS)
def test_an_admin_remains_if_two_act_on_each_other(make_admins: Callable[[], list[User]], way: str) -> None:
    one, two = make_admins()
    clients = {two: browser_of(one), one: browser_of(two)}
    barrier, answers = threading.Barrier(2), list[int]()

    def act(whom: User) -> None:
        try:
            barrier.wait(60)
            answers.append(take(clients[whom], whom, way).status_code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=act, args=[whom]) for whom in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == 2
    assert User.objects.filter(is_superuser=True, is_active=True).count() == 1
