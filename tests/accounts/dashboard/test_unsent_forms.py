"""A form that arrives after the end of its session: the pages of the sign-in say that nothing was done."""

import pytest
from django.test import Client

from accounts.models import User
from tests.accounts.dashboard.signing_in import CODE, SIGN_IN
from tests.accounts.phone import Phone
from tests.clients import browser_of

NOT_DONE, AGAIN = "What you sent was not carried out", "What you sent before you signed in was not carried out"
PROJECT = "/projects/2f1f7f8e-9a54-4f0c-8c39-6a2f5c5d7b11"
ADDRESSES = [
    "/settings/profile",
    "/settings/keys",
    "/projects/bulk",
    f"{PROJECT}/control",
    f"{PROJECT}/change",
    f"{PROJECT}/budget",
    "/admin/accounts/user/add/",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_sign_in_and_the_page_after_it_say_so(client: Client, alice: User, address: str) -> None:
    page = client.post(address, follow=True)
    assert NOT_DONE in page.content.decode()
    answer = client.post("/sign-in", {**SIGN_IN, "next": page.context["next"]})
    assert answer.headers["Location"] == address
    assert AGAIN in client.get("/").content.decode()
    assert AGAIN not in client.get("/").content.decode()


@pytest.mark.parametrize("address", ADDRESSES)
def test_somebody_who_only_looked_is_not_told_so(client: Client, alice: User, address: str) -> None:
    page = client.get(address, follow=True)
    assert NOT_DONE not in page.content.decode()
    client.post("/sign-in", {**SIGN_IN, "next": page.context["next"]})
    assert AGAIN not in client.get("/").content.decode()


def test_the_second_page_of_the_sign_in_keeps_it(client: Client, alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    page = client.post("/settings/profile", follow=True)
    page = client.post("/sign-in", {**SIGN_IN, "next": page.context["next"]}, follow=True)
    answer = client.post(CODE, {"code": phone.next_code(), "next": page.context["next"]})
    assert answer.headers["Location"] == "/settings/profile"
    assert AGAIN in client.get("/settings").content.decode()


def test_somebody_who_has_signed_in_in_another_tab_is_told_so(client: Client, alice: User) -> None:
    turned_away = client.post("/settings/profile").headers["Location"]
    client.post("/sign-in", SIGN_IN)
    assert AGAIN in client.get(turned_away, follow=True).content.decode()


def test_a_form_that_ends_the_session_was_carried_out(alice: User) -> None:
    page = browser_of(alice).post("/settings/sign-out-everywhere", follow=True)
    assert page.redirect_chain == [("/sign-in", 302)]
    assert NOT_DONE not in page.content.decode()
