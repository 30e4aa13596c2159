"""Signing out is the same on each page that does it: the dashboard's, the admin's, and the list of one's sessions."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import logout
from django.test import Client

from accounts import audit
from accounts.models import ApiKey, OpenSession, User
from tests.accounts.dashboard.signing_in import SIGN_IN, is_in
from tests.accounts.dashboard.test_token_for_docs import mint, status_with
from tests.clients import browser_of
from tests.factories import ApiKeyFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

PAGES = {"dashboard": "/sign-out", "admin": "/admin/logout/", "list of sessions": "/settings/sessions/{}/end"}
every_page = pytest.mark.parametrize("page", PAGES)


@pytest.fixture
def ada() -> User:
    return UserFactory.create(email=SIGN_IN["email"], admin=True)


@pytest.fixture
def adas(client: Client, ada: User) -> Client:
    client.post("/sign-in", SIGN_IN)
    assert is_in(client)
    return client


def sign_out(client: Client, page: str) -> Any:
    return client.post(PAGES[page].format(OpenSession.objects.values_list("pk", flat=True).get()))


@every_page
def test_it_ends_the_session_and_the_token_that_this_session_gave(adas: Client, page: str) -> None:
    token = mint(adas)
    answer = sign_out(adas, page)
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in")
    assert not is_in(adas)
    assert status_with(token) == 401
    assert not OpenSession.objects.exists()


@every_page
def test_it_ends_no_key_and_no_other_session(adas: Client, ada: User, page: str) -> None:
    ApiKeyFactory.create(user=ada)
    other = browser_of(ada)
    sign_out(adas, page)
    assert ApiKey.objects.count() == 1
    assert is_in(other)


@every_page
def test_it_is_recorded(adas: Client, ada: User, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    mint(adas)
    monkeypatch.setattr(audit, "record", lambda event, **facts: told.append((event, facts)))
    sign_out(adas, page)
    assert sorted(event for event, _ in told) == ["page_token_ended", "signed_out"]
    assert {facts["user"] for _, facts in told} == {ada.pk}
    assert [facts["of"] for event, facts in told if event == "signed_out"] == ["dashboard"]


@pytest.mark.parametrize("page", ["dashboard", "admin"])
def test_a_token_created_meanwhile_ends_too(adas: Client, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another page requests the token after the sign-out has arrived, and before the session has ended."""
    made: list[str] = []

    def mint_and_sign_out(request: Any) -> None:
        made.append(mint(adas))
        logout(request)

    monkeypatch.setattr("accounts.services.sign_in.logout", mint_and_sign_out)
    sign_out(adas, page)
    assert [status_with(token) for token in made] == [401]
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("page", ["dashboard", "admin"])
def test_someone_who_must_set_up_a_second_factor_first_can_sign_out(adas: Client, page: str, settings: Any) -> None:
    settings.BERTH_REQUIRE_STAFF_MFA = True
    assert adas.get("/")["Location"] == "/settings/second-factor"
    assert sign_out(adas, page)["Location"] == "/sign-in"
    assert not is_in(adas)


@pytest.mark.parametrize("page", ["dashboard", "admin"])
@pytest.mark.parametrize("visit", [Client.get, Client.head, Client.put, Client.delete])
def test_only_a_form_signs_out(adas: Client, page: str, visit: Callable[..., Any]) -> None:
    answer = visit(adas, PAGES[page])
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert is_in(adas)
