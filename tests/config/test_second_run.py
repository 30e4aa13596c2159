"""`make run` on a machine where it has run before: one process, which runs everything again if something is missing."""

from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from config.management.commands import serve
from tests.paths import ROOT


class HandedOverError(Exception):
    """Stands for the replacement of the process."""


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Mock:
    execute = Mock(side_effect=HandedOverError)
    monkeypatch.setattr("os.execv", execute)
    monkeypatch.setattr(serve, "require_that_it_may_serve", Mock())
    return execute


@pytest.mark.django_db
def test_a_missing_image_requires_the_complete_preparation(executed: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "are_built", lambda *_, **__: False)
    with pytest.raises(HandedOverError):
        call_command("serve", "--again", "--prepare", "--announce")
    run = str(ROOT / "config" / "bin" / "run")
    executed.assert_called_once_with(run, [run, "--all"])


@pytest.mark.django_db
def test_obstacles_to_serving_are_reported_before_anything_is_built(executed: Mock, monkeypatch: Any) -> None:
    monkeypatch.setattr(serve, "require_that_it_may_serve", Mock(side_effect=CommandError("The port is taken.")))
    monkeypatch.setattr(serve, "are_built", lambda *_, **__: False)
    with pytest.raises(CommandError, match="The port is taken"):
        call_command("serve", "--again", "--prepare")
    executed.assert_not_called()
