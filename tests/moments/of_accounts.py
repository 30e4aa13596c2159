"""Readers of the moments that accounts store, as in `tests.moments.of_projects`."""

from datetime import datetime, timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from accounts import clock
from accounts.credentials import set_password_tokens
from accounts.credentials.session_tokens import issue_session
from accounts.models import ApiKey, KnownNetwork, LoginCounter, OpenSession, OutgoingMail, RevokedSession, UsageCounter
from accounts.services.open_sessions import list_sessions, note_api_session
from accounts.services.outbox import find_due, queue_mail
from accounts.throttling import counters
from accounts.throttling.known_networks import is_known_network, remember_network
from accounts.throttling.login_attempts import LIMIT, WINDOW, check_limit
from projects.watcher.upkeep.retention import prune
from tests.clients import browser_of
from tests.factories import ApiKeyFactory, plain_key
from tests.moments.world import World

PROJECTS = "/api/projects"


def _answer(token: str) -> int:
    return int(Client().get(PROJECTS, headers={"Authorization": f"Bearer {token}"}).status_code)


def last_used_at(world: World, at: datetime, shift: timedelta) -> None:
    """Each use is recorded, even if a clock that was ahead recorded the last one."""
    key = ApiKeyFactory.create(user=world.owner, last_used_at=at)
    assert _answer(plain_key(key)) == 200
    noted = ApiKey.objects.get(pk=key.pk).last_used_at
    assert noted is not None
    assert abs(noted - clock.now()) < timedelta(minutes=1)


def key_expires_at(world: World, at: datetime, shift: timedelta) -> None:
    """A date that was promised to the owner, and not a lease."""
    key = ApiKeyFactory.create(user=world.owner, created_at=at - timedelta(days=90), expires_at=at)
    assert _answer(plain_key(key)) == (200 if shift > timedelta(0) else 401)


def revocation_expires_at(world: World, at: datetime, shift: timedelta) -> None:
    """A revoked session stays revoked when a clock that was ahead steps back."""
    token = issue_session(world.owner)
    assert Client().post("/api/auth/logout", headers={"Authorization": f"Bearer {token}"}).status_code == 204
    RevokedSession.objects.update(expires_at=at)
    list(prune())
    other = issue_session(world.owner)
    assert Client().post("/api/auth/logout", headers={"Authorization": f"Bearer {other}"}).status_code == 204
    assert _answer(token) == 401


def open_session_ends_at(world: World, at: datetime, shift: timedelta) -> None:
    """A session that would last longer than any does was recorded by a clock that was ahead."""
    note_api_session(user=world.owner, token=issue_session(world.owner), address=None, program="")
    OpenSession.objects.update(ends_at=at)
    assert bool(list_sessions(user=world.owner)) == (shift == timedelta(minutes=10))


def last_attempt_at(world: World, at: datetime, shift: timedelta) -> None:
    """Nobody is locked out for as long as the clock was ahead."""
    LoginCounter.objects.all().delete()
    check_limit(email="alice@example.com", address="192.0.2.7")
    LoginCounter.objects.update(attempts=LIMIT, last_attempt_at=at)
    if -WINDOW < shift < timedelta(0):
        with pytest.raises(Exception, match="Too many"):
            check_limit(email="alice@example.com", address="192.0.2.7")
    else:
        check_limit(email="alice@example.com", address="192.0.2.7")


def known_network_used_at(world: World, at: datetime, shift: timedelta) -> None:
    remember_network(user=world.owner, address="192.0.2.7")
    KnownNetwork.objects.update(used_at=at)
    assert is_known_network(user=world.owner, address="192.0.2.7") == (shift < timedelta(0))
    remember_network(user=world.owner, address="192.0.2.7")
    assert is_known_network(user=world.owner, address="192.0.2.7")


def usage_window(world: World, at: datetime, shift: timedelta) -> None:
    """A window is a moment too. What was used up in another one does not count in this one."""
    UsageCounter.objects.all().delete()
    window, length = counters.current_window(60), 60
    assert counters.consume(subject="s", scope="reads", window=window, limit=3)
    UsageCounter.objects.update(window=counters.window_at(at, length), spent=3)
    assert counters.count_spent(subject="s", scope="reads", window=window) == 0
    assert all(counters.consume(subject="s", scope="reads", window=window, limit=3) for _ in range(3))
    assert not counters.consume(subject="s", scope="reads", window=window, limit=3)


def session_expire_date(world: World, at: datetime, shift: timedelta) -> None:
    """A session that would last longer than any was begun by a clock that was ahead."""
    browser = browser_of(world.owner)
    Session.objects.update(expire_date=at)
    assert browser.get("/").status_code == (200 if shift == timedelta(minutes=10) else 302)


def token_issued_at(world: World, at: datetime, shift: timedelta) -> None:
    """A session token stores its moments itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accounts.clock.now", lambda: at)
        token = issue_session(world.owner)
    assert _answer(token) == (200 if shift == timedelta(minutes=-10) else 401)


def link_made_at(world: World, at: datetime, shift: timedelta) -> None:
    """A set-password link stores its moment itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(set_password_tokens._tokens), "_now", lambda _: at.replace(tzinfo=None))
        token = set_password_tokens.make_token(world.owner)
    assert set_password_tokens.is_valid(token, world.owner) == (shift < timedelta(0))


def mail_next_try_at(world: World, at: datetime, shift: timedelta) -> None:
    """A mail waits for an hour at most, no matter how far the clock has stepped back."""
    OutgoingMail.objects.all().delete()
    queue_mail(kind="a kind", user_id=world.owner.pk)
    OutgoingMail.objects.update(next_try_at=at)
    assert find_due(clock.now()).exists() == (shift != timedelta(minutes=10))
