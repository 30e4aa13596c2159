"""Every way to change a user's rights: through objects, queries, the admin, commands, and SQL."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client

from accounts.models import User
from accounts.services.set_password_links import make_set_password_link
from tests.clients import browser_of, make_person

Change = Callable[[User, dict[str, bool]], None]

STAFF, ADMIN, INACTIVE = {"is_staff": True}, {"is_staff": True, "is_superuser": True}, {"is_active": False}
RIGHTS: dict[str, dict[str, bool]] = {"staff": STAFF, "admin": ADMIN, "inactive": INACTIVE}


def back(rights: dict[str, bool]) -> dict[str, bool]:
    """Undoes the change."""
    return {name: not value for name, value in rights.items()}


def _set(user: User, rights: dict[str, bool]) -> User:
    for name, value in rights.items():
        setattr(user, name, value)
    return user


def save(user: User, rights: dict[str, bool]) -> None:
    _set(User.objects.get(pk=user.pk), rights).save()


def save_fields(user: User, rights: dict[str, bool]) -> None:
    _set(User.objects.get(pk=user.pk), rights).save(update_fields=list(rights))


def save_deferred(user: User, rights: dict[str, bool]) -> None:
    _set(User.objects.only("email").get(pk=user.pk), rights).save()


def save_object_read_before(user: User, rights: dict[str, bool]) -> None:
    _set(user, rights).save()


def update(user: User, rights: dict[str, bool]) -> None:
    User.objects.filter(pk=user.pk).update(**rights)


def update_or_create(user: User, rights: dict[str, bool]) -> None:
    User.objects.update_or_create(pk=user.pk, defaults=rights)


def bulk_update(user: User, rights: dict[str, bool]) -> None:
    User.objects.bulk_update([_set(User.objects.get(pk=user.pk), rights)], list(rights))


def admin_form(user: User, rights: dict[str, bool]) -> None:
    ada = User.objects.filter(email="ada@example.com").first() or make_person("ada")
    now = User.objects.get(pk=user.pk)
    form: dict[str, Any] = {name: getattr(now, name) for name in ("email", "is_active", "is_staff", "is_superuser")}
    sent = {name: "on" if value is True else value for name, value in {**form, **rights}.items() if value}
    assert browser_of(ada).post(f"/admin/accounts/user/{user.pk}/change/", sent).status_code == 302


def shell(user: User, rights: dict[str, bool]) -> None:
    setting = "; ".join(f"user.{name} = {value}" for name, value in rights.items())
    lines = f"from accounts.models import User; user = User.objects.get(pk='{user.pk}'); {setting}"
    call_command("shell", command=f"{lines}; user.save(update_fields={list(rights)})")


def by_hand(user: User, rights: dict[str, bool]) -> None:
    """Changes the row as `psql` would, without any of our code."""
    with connection.cursor() as cursor:
        for name, value in rights.items():
            key = user.pk.hex if connection.vendor == "sqlite" else user.pk
            cursor.execute(f"UPDATE accounts_user SET {name} = %s WHERE id = %s", [value, key])
            assert cursor.rowcount == 1


WRITERS: dict[str, Change] = {
    writer.__name__: writer
    for writer in (
        save,
        save_fields,
        save_deferred,
        save_object_read_before,
        update,
        update_or_create,
        bulk_update,
        admin_form,
        shell,
    )
}


def set_password_path(user: User) -> str:
    """The path of a set-password link for this user, as the admin shows it."""
    link = make_set_password_link(user=User.objects.get(pk=user.pk), by=user)
    return link.removeprefix(settings.BERTH_PUBLIC_URL)


def opens(path: str, *, in_browser: Client | None = None) -> bool:
    page = (in_browser or Client()).get(path, follow=True)
    return "no longer valid" not in page.content.decode()
