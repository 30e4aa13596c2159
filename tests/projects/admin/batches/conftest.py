"""Staff and three projects of Alice."""

from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import User
from projects.admin import batches as batch_admin
from projects.models import Project
from tests.clients import browser_of
from tests.deploying import token_of_bot


@pytest.fixture
def admin(sam: User) -> Client:
    return browser_of(sam)


@pytest.fixture
def three(deploy: Callable[..., Project]) -> list[Project]:
    """In the order of the list: the newest first."""
    return [deploy(name=f"Ship {n}", telegramToken=token_of_bot(4_000_000_000 + n)) for n in range(3)][::-1]


@pytest.fixture
def _one_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_admin, "STEP_SECONDS", 0)
    monkeypatch.setattr(batch_admin, "BATCH_SECONDS", 0)
