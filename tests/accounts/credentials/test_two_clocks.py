"""Machines with different clocks accept each other's session tokens, which end by the clock that they share."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import clock
from accounts.credentials.session_tokens import issue_session, read_session
from accounts.errors import InvalidTokenError
from accounts.models import User

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("ahead", [timedelta(seconds=-4), timedelta(seconds=4), timedelta(minutes=4)], ids=str)
def test_a_token_counts_at_once_on_a_machine_with_another_clock(
    alice: User, ahead: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(clock, "now", lambda: timezone.now() + ahead)
        token = issue_session(alice)
    assert read_session(token).user_id == alice.pk


def test_a_token_expires_to_the_second_in_spite_of_the_library_s_leeway(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = issue_session(alice)
    ends_at = read_session(token).expires_at
    monkeypatch.setattr(clock, "now", lambda: ends_at - timedelta(seconds=1))
    assert read_session(token).user_id == alice.pk
    monkeypatch.setattr(clock, "now", lambda: ends_at)
    with pytest.raises(InvalidTokenError):
        read_session(token)
