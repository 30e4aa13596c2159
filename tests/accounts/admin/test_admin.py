"""Who may do what in the admin with users and API keys."""

import uuid
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.admin.users import UserForm
from accounts.models import ApiKey, User
from accounts.services.sign_in import set_password
from tests.clients import Call
from tests.factories import ApiKeyFactory, UserFactory, plain_key

USERS = "/admin/accounts/user/"
KEYS = "/admin/accounts/apikey/"


def _save(client: Client, user: User, **fields: object) -> int:
    form = {"email": user.email, "is_active": "on", **fields}
    sent = {name: value for name, value in form.items() if value}
    return client.post(f"{USERS}{user.pk}/change/", sent).status_code


@pytest.mark.parametrize("path", ["/admin/", USERS, KEYS, f"{USERS}add/"])
def test_the_admin_signs_in_at_the_sign_in_page(client: Client, db: None, path: str) -> None:
    answer = client.get(path, follow=True)

    assert answer.redirect_chain[-1][0] == f"/sign-in?next={path}"
    assert "Sign in" in answer.content.decode()


def test_the_admin_s_own_sign_in_accepts_no_password_and_redirects_nowhere_else(client: Client, ada: User) -> None:
    form = {"username": ada.email, "password": "wrong"}

    assert client.post("/admin/login/", form).headers["Location"] == "/sign-in?next=/admin/%23unsent"
    assert client.get("/admin/login/?next=https://evil.example/").headers["Location"] == "/sign-in?next=/admin/"


@pytest.mark.parametrize("path", ["/admin/", USERS, KEYS])
def test_users_see_that_the_admin_is_for_staff_only(client: Client, alice: User, path: str) -> None:
    client.force_login(alice)

    assert client.get(path, follow=True).status_code == 403


def test_django_s_own_permissions_open_nothing(client: Client, alice: User) -> None:
    alice.user_permissions.set(Permission.objects.all())
    client.force_login(alice)

    assert client.get(USERS, follow=True).status_code == 403


def test_staff_add_a_user_by_email_only(client: Client, sam: User) -> None:
    client.force_login(sam)
    answer = client.post(f"{USERS}add/", {"email": " New@Example.COM", "is_staff": "on", "is_superuser": "on"})

    user = User.objects.get(email="new@example.com")
    assert "/set-password/" in answer.content.decode()
    assert (user.is_staff, user.is_superuser, user.has_usable_password()) == (False, False, False)


def test_deactivating_ends_sessions_permanently(client: Client, call: Call, sam: User, alice: User) -> None:
    from accounts.credentials.session_tokens import issue_session

    token, key = issue_session(alice), plain_key(ApiKeyFactory.create(user=alice))
    client.force_login(sam)

    def are_in() -> list[bool]:
        return [call("GET", "/api/auth/session", by=each).json()["authenticated"] for each in (token, key)]

    _save(client, alice, is_active="")
    assert are_in() == [False, False]
    _save(client, alice)
    assert are_in() == [False, True]


def test_staff_cannot_give_roles(client: Client, sam: User, alice: User) -> None:
    client.force_login(sam)

    assert _save(client, alice, is_staff="on", is_superuser="on", user_permissions="1", groups="1") == 302
    alice.refresh_from_db()
    assert (alice.is_staff, alice.is_superuser) == (False, False)


def test_staff_cannot_touch_admins_staff_or_themselves(client: Client, sam: User, ada: User) -> None:
    client.force_login(sam)
    for user in (ada, sam, UserFactory.create(staff=True)):
        assert client.get(f"{USERS}{user.pk}/change/").status_code == 200
        assert _save(client, user, email="taken-over@example.com") == 403
        assert client.post(f"{USERS}{user.pk}/delete/", {"post": "yes"}).status_code == 403


def test_admins_give_and_take_roles(client: Client, ada: User, alice: User) -> None:
    client.force_login(ada)
    _save(client, alice, is_staff="on", is_superuser="on")
    assert User.objects.get(pk=alice.pk).role == "admin"
    _save(client, alice)
    assert User.objects.get(pk=alice.pk).role == "user"


def _meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Acts after the form was found valid and before it is saved."""
    full_clean = UserForm.full_clean

    def clean_then_act(form: UserForm) -> None:
        full_clean(form)
        act()

    monkeypatch.setattr(UserForm, "full_clean", clean_then_act)


def test_a_form_does_not_overwrite_fields_changed_meanwhile(
    client: Client, sam: User, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new password stays, and all sessions stay ended."""
    client.force_login(sam)
    _meanwhile(monkeypatch, lambda: set_password(user=User.objects.get(pk=alice.pk), password="entirely new, it is"))

    assert _save(client, alice, email="alice@example.org") == 302
    saved = User.objects.get(pk=alice.pk)
    assert saved.email == "alice@example.org"
    assert saved.check_password("entirely new, it is")
    assert saved.session_version > alice.session_version


def test_a_form_for_a_user_who_becomes_an_admin_meanwhile_is_refused(
    client: Client, sam: User, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(sam)
    _meanwhile(monkeypatch, lambda: User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True))

    assert _save(client, alice, email="taken-over@example.com") == 403
    assert not User.objects.filter(email="taken-over@example.com").exists()


def test_an_admin_is_always_staff(client: Client, ada: User, alice: User) -> None:
    client.force_login(ada)

    assert _save(client, alice, is_superuser="on") == 200
    assert User.objects.get(pk=alice.pk).role == "user"


def test_admins_cannot_lock_themselves_out(client: Client, ada: User) -> None:
    client.force_login(ada)
    _save(client, ada, is_active="", is_staff="", is_superuser="")

    assert User.objects.get(pk=ada.pk).role == "admin"
    assert User.objects.get(pk=ada.pk).is_active
    assert client.post(f"{USERS}{ada.pk}/delete/", {"post": "yes"}).status_code == 403


def test_keys_are_seen_and_revoked_but_never_made_or_changed(client: Client, sam: User, alice: User) -> None:
    key = ApiKeyFactory.create(user=alice, name="hers")
    client.force_login(sam)

    assert "hers" in client.get(KEYS).content.decode()
    assert client.get(f"{KEYS}add/").status_code == 403
    assert client.post(f"{KEYS}{key.pk}/change/", {"name": "mine"}).status_code == 403
    assert client.post(f"{KEYS}{key.pk}/delete/", {"post": "yes"}).status_code == 403
    client.post(KEYS, {"action": "revoke", "_selected_action": [str(key.pk)], "confirm": str(key)})
    assert not ApiKey.objects.get().is_live


def test_staff_do_not_revoke_the_keys_of_admins(client: Client, sam: User, ada: User) -> None:
    key = ApiKeyFactory.create(user=ada)
    client.force_login(sam)
    client.post(KEYS, {"action": "revoke", "_selected_action": [str(key.pk)], "confirm": str(key)})

    assert ApiKey.objects.get().is_live


@pytest.mark.parametrize("search", ["", "?q=hers", "?q=berth", f"?q={uuid.uuid4()}"])
def test_no_digest_and_no_password_is_shown(client: Client, ada: User, alice: User, search: str) -> None:
    key = ApiKeyFactory.create(user=alice, name="hers")
    client.force_login(ada)
    pages = [KEYS + search, f"{KEYS}{key.pk}/change/", USERS, f"{USERS}{alice.pk}/change/"]

    shown = "".join(client.get(page).content.decode() for page in pages)
    for secret in (key.digest, plain_key(key), alice.password):
        assert secret not in shown


def test_groups_are_not_used(client: Client, ada: User) -> None:
    client.force_login(ada)

    assert client.get("/admin/auth/group/").status_code == 404


def test_passwords_are_changed_on_the_settings_page(client: Client, ada: User) -> None:
    client.force_login(ada)

    assert client.get("/admin/password_change/").headers["Location"] == "/settings"
