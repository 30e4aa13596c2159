"""How staff set allowances in the admin, and which ones they cannot set."""

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Allowance
from tests.clients import api_of, browser_of
from tests.projects.api.allowing import body, by_api

PATH = "/admin/projects/allowance/"


def save(staff: Client, email: str, number: str = "2", path: str = "add/") -> Any:
    return staff.post(f"{PATH}{path}", {"user": email, "plan": "pro", "max_projects": number}, follow=True)


def test_staff_set_what_a_user_may_create(sam: User, newcomer: User) -> None:
    staff = browser_of(sam)
    assert "was added successfully" in save(staff, " New@Example.com ").content.decode()
    allowance = Allowance.objects.get(user=newcomer)
    assert (allowance.plan_id, allowance.max_projects) == ("pro", 2)
    assert by_api(newcomer, 1) == 201
    assert "This user has an allowance for this plan already." in save(staff, newcomer.email).content.decode()
    save(staff, "", "", f"{allowance.pk}/change/")
    allowance.refresh_from_db()
    assert (allowance.user, allowance.max_projects) == (newcomer, None)
    assert newcomer.email in staff.get(PATH).content.decode()
    staff.post(f"{PATH}{allowance.pk}/delete/", {"post": "yes"})
    assert not Allowance.objects.filter(user=newcomer).exists()
    assert by_api(newcomer, 2) == 400


@pytest.mark.parametrize("email", ["", "nobody@example.org", "new", "é" * 300, "1", "%", "new@example.com\x00"])
def test_an_unknown_email_is_reported(sam: User, newcomer: User, email: str) -> None:
    answer = save(browser_of(sam), email)
    assert answer.status_code == 200
    assert not Allowance.objects.filter(user=newcomer).exists()


@pytest.mark.parametrize("number", ["-1", "x", "1e3", "99999999999999999999"])
def test_an_invalid_number_is_reported(sam: User, newcomer: User, number: str) -> None:
    assert save(browser_of(sam), newcomer.email, number).status_code == 200
    assert not Allowance.objects.filter(user=newcomer).exists()


def test_staff_allow_nothing_to_staff_and_admins(sam: User, ada: User, newcomer: User) -> None:
    Allowance.objects.all().delete()
    for email in (sam.email, ada.email):
        assert save(browser_of(sam), email).status_code == 403
    allowance = Allowance.objects.create(user=ada, plan_id="pro", max_projects=1)
    assert save(browser_of(sam), "", "9", f"{allowance.pk}/change/").status_code == 403
    assert browser_of(sam).post(f"{PATH}{allowance.pk}/delete/", {"post": "yes"}).status_code == 403
    assert save(browser_of(ada), sam.email).status_code == 200
    assert list(Allowance.objects.order_by("pk").values_list("user", "max_projects")) == [(ada.pk, 1), (sam.pk, 2)]
    everything = {"action": "delete_selected", "_selected_action": [str(allowance.pk)], "post": "yes"}
    browser_of(sam).post(PATH, everything)
    assert Allowance.objects.filter(pk=allowance.pk).exists()


def test_users_allow_themselves_nothing(newcomer: User) -> None:
    assert save(browser_of(newcomer), newcomer.email).status_code in {302, 403}
    assert not Allowance.objects.filter(user=newcomer).exists()
    for field in ("allowances", "max_projects", "open_to_all"):
        api: APIClient = api_of(newcomer)
        assert api.post("/api/projects", body(1, "free") | {field: 9}).status_code == 400
