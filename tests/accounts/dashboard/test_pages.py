"""The account pages: who sees which, what they never show, and that no form is accepted without its token."""

import re
import uuid

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey, User
from accounts.services.api_keys import LIMIT
from tests.canaries import CANARY_PASSWORD
from tests.factories import ApiKeyFactory

SIGN_IN = {"email": "alice@example.com", "password": CANARY_PASSWORD}
BEHIND_SIGN_IN = ["/settings", "/settings/password", "/settings/keys", "/settings/sign-out-everywhere"]
FORMS = ["/sign-in", "/sign-out", "/settings/token-for-docs", *BEHIND_SIGN_IN[1:]]


def _new_key(**changes: str) -> dict[str, str]:
    return {"id": str(uuid.uuid4()), "name": "robot", "scope": "read", "lifetime": "90", **changes}


@pytest.mark.parametrize("path", BEHIND_SIGN_IN)
@pytest.mark.parametrize(("method", "mark"), [("get", ""), ("post", "%23unsent")])
def test_visitors_are_redirected_to_the_sign_in_page(
    client: Client, db: None, path: str, method: str, mark: str
) -> None:
    answer = getattr(client, method)(path)

    assert (answer.status_code, answer.url) == (302, f"/sign-in?next={path}{mark}")


@pytest.mark.parametrize("path", FORMS)
def test_a_form_without_its_csrf_token_is_refused(alice: User, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)

    assert client.post(path, {**SIGN_IN, **_new_key()}).status_code == 403
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("path", BEHIND_SIGN_IN[1:])
def test_reading_the_address_of_a_form_does_nothing(client: Client, alice: User, path: str) -> None:
    client.force_login(alice)

    assert client.get(path).headers["Location"] == "/settings"
    assert client.get("/settings").status_code == 200


@pytest.mark.parametrize(
    ("wanted", "reached"),
    [
        ("/settings?x=1", "/settings?x=1"),
        ("", "/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("/\\evil.example", "/"),
    ],
)
def test_signing_in_leads_to_the_requested_page_but_never_to_another_site(
    client: Client, alice: User, wanted: str, reached: str
) -> None:
    answer = client.post("/sign-in", {**SIGN_IN, "next": wanted})

    assert (answer.status_code, answer.headers["Location"]) == (302, reached)


def test_signing_in_gives_a_new_session_of_at_most_twelve_hours(client: Client, alice: User) -> None:
    client.get("/sign-in")
    client.post("/sign-in", SIGN_IN)
    session = Session.objects.get()
    client.post("/settings/password", {})
    client.post("/settings/keys", {key: value for key, value in _new_key().items() if key != "id"})

    assert 0 <= 12 * 3600 - (session.expire_date - timezone.now()).total_seconds() < 60
    assert Session.objects.get().expire_date == session.expire_date


def test_a_refused_sign_in_does_not_reveal_a_known_email(client: Client, alice: User) -> None:
    def page(email: str) -> str:
        content = client.post("/sign-in", {"email": email, "password": "wrong"}).content.decode()
        return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", content).replace(email, "")

    assert page("alice@example.com") == page("nobody@example.com")
    assert "The email or the password is wrong." in page("alice@example.com")


def test_a_key_is_shown_once_even_to_a_form_sent_twice(client: Client, alice: User) -> None:
    client.force_login(alice)
    form = _new_key()
    made = client.post("/settings/keys", form)
    key = re.search(r"berth_\w{46}", made.content.decode())
    again = client.post("/settings/keys", form, follow=True)

    assert key is not None
    assert key[0] not in again.content.decode()
    assert "already exists" in again.content.decode()
    assert ApiKey.objects.count() == 1
    assert key[0] not in str(Session.objects.get().get_decoded())


@pytest.mark.parametrize(("lifetime", "days"), [("30", 30), ("365", 365), ("", None)])
def test_a_key_is_valid_as_long_as_chosen(client: Client, alice: User, lifetime: str, days: int | None) -> None:
    client.force_login(alice)
    client.post("/settings/keys", _new_key(lifetime=lifetime))

    assert ApiKey.objects.get().lifetime_days == days


@pytest.mark.parametrize(
    "change",
    [{"name": ""}, {"name": "a\x07b"}, {"name": "a" * 65}, {"scope": "admin"}, {"lifetime": "31"}, {"id": "x"}],
)
def test_a_bad_form_creates_no_key(client: Client, alice: User, change: dict[str, str]) -> None:
    client.force_login(alice)

    assert client.post("/settings/keys", _new_key(**change)).status_code == 200
    assert not ApiKey.objects.exists()


def test_the_page_shows_the_limit(client: Client, alice: User) -> None:
    ApiKeyFactory.create_batch(LIMIT, user=alice)
    client.force_login(alice)

    assert "Revoke one first." in client.post("/settings/keys", _new_key()).content.decode()


def test_names_are_shown_as_text(client: Client, alice: User) -> None:
    ApiKeyFactory.create(user=alice, name="<script>alert(1)</script>")
    client.force_login(alice)

    assert b"<script>alert" not in client.get("/settings").content


def test_a_stranger_cannot_see_or_revoke_a_key(client: Client, alice: User, bob: User) -> None:
    key = ApiKeyFactory.create(user=alice, name="hers")
    client.force_login(bob)

    assert b"hers" not in client.get("/settings").content
    assert client.get(f"/settings/keys/{key.pk}/revoke").status_code == 404
    assert client.post(f"/settings/keys/{key.pk}/revoke").status_code == 404
    key.refresh_from_db()
    assert key.is_live


def test_revoking_asks_first_and_happens_once(client: Client, alice: User) -> None:
    key = ApiKeyFactory.create(user=alice)
    client.force_login(alice)
    path = f"/settings/keys/{key.pk}/revoke"

    assert client.get(path).status_code == 200
    assert ApiKey.objects.get().is_live
    assert client.post(path).status_code == 302
    assert not ApiKey.objects.get().is_live
    assert client.post(path).status_code == 404


def test_an_inactive_user_is_out_of_the_dashboard_at_once(client: Client, alice: User) -> None:
    client.force_login(alice)
    User.objects.filter(pk=alice.pk).update(is_active=False)

    assert client.get("/settings").status_code == 302


def test_signing_out_requires_a_post(client: Client, alice: User) -> None:
    client.force_login(alice)

    assert client.get("/sign-out").status_code == 405
    assert client.post("/sign-out").headers["Location"] == "/sign-in"
    assert client.get("/settings").status_code == 302


def test_private_pages_are_not_kept_by_caches(client: Client, alice: User) -> None:
    client.force_login(alice)

    assert client.get("/settings").headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in client.get("/settings").headers["Content-Security-Policy"]
