"""A present that stands still, and Alice's tokens."""

from datetime import datetime

import pytest
from django.conf import settings
from django.utils import timezone

from accounts import clock
from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from projects.models import Watch
from projects.rules.status.lifecycle import LEASE
from tests.factories import ApiKeyFactory, plain_key


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch, db: None) -> datetime:
    """The present, which stands still. The watcher is at work."""
    at = timezone.now()
    monkeypatch.setattr(clock, "now", lambda: at)
    Watch.objects.update_or_create(
        instance=settings.BERTH_INSTANCE, defaults={"heartbeat_at": at, "lease_until": at + LEASE}
    )
    return at


@pytest.fixture
def tokens(alice: User) -> list[str]:
    keys = [plain_key(ApiKeyFactory.create(user=alice, scope=scope)) for scope in ("read", "write")]
    return [issue_session(alice), *keys]
