"""`manage.py prepare` without an admin."""

from typing import Any

import pytest
from django.core.management import call_command

from accounts.models import User
from config.management.commands import prepare
from tests.factories import UserFactory


@pytest.mark.parametrize("rights", [{}, {"staff": True}, {"admin": True, "is_active": False}])
def test_a_service_without_an_admin_starts_and_says_what_to_do(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rights: dict[str, Any]
) -> None:
    settings.BERTH_ADMIN_EMAIL = UserFactory.create(email="ada@example.com", **rights).email
    monkeypatch.setattr(prepare, "require_port_of_role", lambda: None)
    monkeypatch.setattr(prepare.Command, "_collect_static", lambda *_, **__: None)
    call_command("prepare")
    told = capsys.readouterr().err
    assert "Nobody is an admin" in told
    assert "Set BERTH_ADMIN_EMAIL to another address" in told
    assert User.objects.count() == 1
