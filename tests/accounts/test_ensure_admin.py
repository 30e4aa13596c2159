"""The first superuser: created once, with a password that is given or shown once."""

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.models import User
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_configured(settings: Any) -> None:
    settings.BERTH_ADMIN_EMAIL = settings.BERTH_ADMIN_PASSWORD = ""


def ensure_admin() -> str:
    output = StringIO()
    call_command("ensure_admin", stdout=output)
    return output.getvalue()


def test_without_a_password_a_random_one_is_shown_once() -> None:
    shown = re.search(r"Password: (\S+)", ensure_admin())
    assert shown
    admin = User.objects.get()
    assert (admin.email, admin.is_superuser, admin.is_staff) == ("admin@berth.localhost", True, True)
    assert admin.check_password(shown[1])
    assert len(shown[1]) >= 20
    assert "Password" not in ensure_admin()
    assert User.objects.count() == 1


def test_the_configured_email_and_password_are_used_and_the_password_is_not_shown(settings: Any) -> None:
    settings.BERTH_ADMIN_EMAIL, settings.BERTH_ADMIN_PASSWORD = "Ada@Example.com", "a long phrase of her own"
    assert ensure_admin() == "Admin: ada@example.com\n"
    assert User.objects.get(email="ada@example.com").check_password("a long phrase of her own")


def test_an_existing_admin_is_left_alone(settings: Any) -> None:
    admin = UserFactory.create(admin=True)
    settings.BERTH_ADMIN_EMAIL, settings.BERTH_ADMIN_PASSWORD = "other@example.com", "another long phrase"
    assert ensure_admin() == f"Admin: {admin.email}\n"
    assert list(User.objects.values_list("password", flat=True)) == [admin.password]


@pytest.mark.parametrize(("email", "password"), [("ada@example.com", "0123456789a"), ("no address", "a long phrase")])
def test_an_unusable_value_is_reported_with_its_variable(settings: Any, email: str, password: str) -> None:
    settings.BERTH_ADMIN_EMAIL, settings.BERTH_ADMIN_PASSWORD = email, password
    with pytest.raises(CommandError, match="BERTH_ADMIN_EMAIL or BERTH_ADMIN_PASSWORD cannot be used") as caught:
        ensure_admin()
    assert password not in str(caught.value)
    assert not User.objects.exists()


def test_an_ordinary_user_is_not_made_an_admin(settings: Any) -> None:
    settings.BERTH_ADMIN_EMAIL = UserFactory.create(email="ada@example.com").email
    with pytest.raises(CommandError, match="is a user but not an active admin"):
        ensure_admin()
    assert not User.objects.filter(is_superuser=True).exists()


def test_without_an_active_admin_another_address_gets_one(settings: Any) -> None:
    inactive = UserFactory.create(admin=True, is_active=False)
    settings.BERTH_ADMIN_EMAIL = inactive.email
    with pytest.raises(CommandError, match="Set BERTH_ADMIN_EMAIL to another address"):
        ensure_admin()
    settings.BERTH_ADMIN_EMAIL = "new@example.com"
    assert "Admin: new@example.com" in ensure_admin()
    inactive.refresh_from_db()
    assert not inactive.is_active


class Broken(StringIO):
    """A terminal that is gone, or a full disk, from the n-th write on."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._left = number

    def write(self, text: str) -> int:
        self._left -= 1
        if self._left < 0:
            raise BrokenPipeError
        return super().write(text)

    def flush(self) -> None:
        self.write("")


@pytest.mark.parametrize("number", range(3))
def test_there_is_no_admin_whose_password_nobody_has_seen(number: int) -> None:
    with pytest.raises(BrokenPipeError):
        call_command("ensure_admin", stdout=Broken(number))
    shown = re.search(r"Password: (\S+)", ensure_admin())
    assert shown
    assert User.objects.get().check_password(shown[1])
