"""Whoever waits exactly as long as `Retry-After` says is let in, wherever in a second they were refused."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.errors import AccountError
from accounts.models import User
from accounts.moments import seconds_to_wait
from accounts.services import email_change, sign_up
from accounts.throttling.login_attempts import ADDRESS_LIMIT, check_code_limit, check_limit
from accounts.throttling.rate_limits import RateLimiter
from projects.errors import OperationInProgressError, TooManyExportsError
from projects.models import Project
from projects.services.account.export import start_export
from projects.services.operations import operation_in_progress
from tests.accounts.throttling.rate_limiting import Clock
from tests.canaries import CANARY_PASSWORD
from tests.clients import browser_of

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

PARTS = (0.0, 0.001, 0.3, 0.499, 0.5, 0.501, 0.7, 0.999)
"""Parts of a second at which someone is refused."""

Try = Callable[[int], None]
"""Tries for the n-th time. Raises an error with `retry_after` if refused."""


class LimitedError(Exception):
    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after


def limit_requests(scope: str) -> Callable[[User], Try]:
    def begin(user: User) -> Try:
        process = RateLimiter()

        def attempt(_: int) -> None:
            state = process.acquire(subject=user.pk.hex, scope=scope, limit=3)
            if not state.allowed:
                raise LimitedError(state.reset)

        return attempt

    return begin


def sign_up_from_here(number: int) -> None:
    request: Any = Client().get("/sign-in").wsgi_request
    sign_up.send_sign_up_link(request, email=f"someone-{number}@example.com")


def change_email(user: User) -> Try:
    session = browser_of(user).session
    return lambda number: email_change.ask_for_email(user=user, session=session, email=f"new-{number}@example.com")


def export(user: User) -> Try:
    return lambda _: start_export(user=user).close()


LIMITS: dict[str, Callable[[User], Try]] = {
    "passwords of an account": lambda user: lambda _: check_limit(email=user.email, address="192.0.2.1"),
    "passwords from an address": lambda _: lambda number: check_limit(email=f"{number}@x.example", address="192.0.2.1"),
    "codes": lambda user: lambda _: check_code_limit(user=user, address="192.0.2.1"),
    "reads": limit_requests("reads"),
    "commands": limit_requests("commands"),
    "deploys": limit_requests("deploys"),
    "sign-ups": lambda _: sign_up_from_here,
    "changes of the email": change_email,
    "exports": export,
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("limit", LIMITS)
def test_waiting_as_long_as_told_is_enough(
    alice: User, clock: Clock, monkeypatch: pytest.MonkeyPatch, limit: str, part: float
) -> None:
    monkeypatch.setattr("accounts.clock.now", clock)
    attempt, wait = LIMITS[limit](alice), 0
    for number in range(ADDRESS_LIMIT + 1):
        try:
            attempt(number)
        except (LimitedError, AccountError, TooManyExportsError):
            break
    clock.seconds += 5 + part
    try:
        attempt(1000)
    except (LimitedError, AccountError, TooManyExportsError) as error:
        wait = error.retry_after  # type: ignore[union-attr]  # each of those that are raised here has it
    assert isinstance(wait, int)
    assert wait >= 1
    clock.seconds += wait
    attempt(1001)


@pytest.mark.parametrize("left", [-3.0, 0.0, 0.2, 1.0, 1.2, 1.5, 4.4, 4.999])
def test_an_operation_is_over_after_the_time_that_is_told(clock: Clock, left: float) -> None:
    project = Project(name="x")
    project.operation_deadline = clock() + timedelta(seconds=left)
    error = operation_in_progress(project)
    assert isinstance(error, OperationInProgressError)
    assert max(left, 1) <= error.retry_after <= max(left, 0) + 1


@pytest.mark.parametrize("left", [-1.0, 0.0, 0.01, 1.0, 1.01, 59.5, 899.0001])
def test_seconds_are_rounded_up(left: float) -> None:
    assert max(left, 1) <= seconds_to_wait(timedelta(seconds=left)) < max(left, 0) + 2


def test_a_refused_change_of_the_email_says_when_to_try_again(alice: User, settings: Any, clock: Clock) -> None:
    settings.BERTH_SENDS_MAIL = True
    answers = [
        browser_of(alice).post("/settings/email", {"email": f"n{number}@x.example", "password": CANARY_PASSWORD})
        for number in range(email_change.ASKED_PER_USER + 1)
    ]
    assert answers[-1].status_code == 429
    assert 1 <= int(answers[-1]["Retry-After"]) <= email_change.HOUR
