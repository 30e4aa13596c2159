"""BERTH_REQUIRE_STAFF_MFA: staff without a second factor can only set one up or sign out."""

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from tests.accounts.phone import Phone
from tests.clients import Call

BEGIN = "/settings/second-factor"


@pytest.fixture(autouse=True)
def _required(settings: Settings) -> None:
    settings.BERTH_REQUIRE_STAFF_MFA = True


@pytest.mark.parametrize("who", ["sam", "ada"])
@pytest.mark.parametrize("path", ["/settings", "/settings/keys", "/admin/", "/admin/accounts/user/", f"{BEGIN}/off"])
def test_staff_without_a_second_factor_are_redirected_to_its_setup(
    client: Client, request: pytest.FixtureRequest, db: None, who: str, path: str
) -> None:
    client.force_login(request.getfixturevalue(who))

    for send in (client.get, client.post):
        assert send(path).headers["Location"] == BEGIN
    assert "need a second factor" in client.get(BEGIN).content.decode()


def test_staff_with_a_second_factor_reach_every_page(client: Client, sam: User, phone: Phone) -> None:
    phone.enrol(sam)
    client.force_login(sam)

    assert [client.get(path).status_code for path in ("/settings", "/admin/")] == [200, 200]


def test_turning_it_off_leads_back_to_the_setup(client: Client, sam: User, phone: Phone) -> None:
    phone.enrol(sam)
    client.force_login(sam)
    client.post(f"{BEGIN}/off", {"password": "canary-0-password-0-of-alice-m8Gs", "code": phone.next_code()})

    assert client.get("/admin/").headers["Location"] == BEGIN


def test_staff_without_a_second_factor_can_sign_out(client: Client, sam: User) -> None:
    client.force_login(sam)

    assert client.post("/sign-out").headers["Location"] == "/sign-in"


def test_users_are_not_asked(client: Client, alice: User) -> None:
    client.force_login(alice)

    assert client.get("/settings").status_code == 200


def test_with_the_rule_off_nobody_needs_a_second_factor(client: Client, sam: User, settings: Settings) -> None:
    settings.BERTH_REQUIRE_STAFF_MFA = False
    client.force_login(sam)

    assert client.get("/admin/").status_code == 200


def test_visitors_and_the_api_are_unaffected(call: Call, client: Client, sam: User) -> None:
    assert client.get("/sign-in").status_code == 200
    assert client.get("/healthz").status_code == 200
    assert call("GET", "/api/auth/keys", by=sam).status_code == 200
