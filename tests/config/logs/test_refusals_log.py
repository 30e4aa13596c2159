"""The log lines about requests that Django refuses as suspicious, of which a stranger can send any number."""

import logging
from typing import Any

import pytest
from django.core.exceptions import SuspiciousOperation
from django.core.handlers.exception import response_for_exception
from django.test import Client, RequestFactory

from config.logs.formatting import TextFormatter
from config.logs.refusals import EVERY, LONGEST, RefusalsHandler

pytestmark = pytest.mark.one_database

MANY = 20
ELSEWHERE = ("berth.access", "django.security")
"""Not checked, because pytest adds its own handler to the second one, which has only ours in the service."""


@pytest.fixture(autouse=True)
def _nothing_said_yet(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.BERTH_NAMED_HOSTS = []
    security = logging.getLogger("django.security")
    assert not security.propagate
    [handler] = (each for each in security.handlers if not each.__module__.startswith("_pytest"))
    assert isinstance(handler, RefusalsHandler)
    monkeypatch.setattr(handler, "_silent_until", {})


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines that are written at the level of production, without the access log."""
    records = [each for each in caplog.records if each.levelno >= logging.INFO and not each.name.startswith(ELSEWHERE)]
    return "\n".join(map(TextFormatter("{levelname} {message}", style="{").format, records)).splitlines()


def kinds(of: type[SuspiciousOperation]) -> set[type[SuspiciousOperation]]:
    return {of}.union(*(kinds(each) for each in of.__subclasses__()))


@pytest.mark.parametrize("path", ["/sign-in", "/api/projects", "/healthz", "/nothing"])
def test_many_wrong_hosts_cause_one_log_line(caplog: pytest.LogCaptureFixture, path: str) -> None:
    for number in range(MANY):
        host = "localhost:6666" if number % 2 else f"evil-{number}.example"
        answer = Client().get(path, headers={"host": host}, REMOTE_ADDR="203.0.113.7")
        assert answer.status_code == 400
    [line] = lines(caplog)
    assert line.startswith("WARNING DisallowedHost: ")
    assert "evil-0.example" in line


@pytest.mark.django_db
def test_other_suspicious_requests_cause_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    for kind in kinds(SuspiciousOperation):
        caplog.clear()
        for number in range(MANY):
            attack = kind(f"attack {number}\n" + "x" * 100_000)
            assert response_for_exception(RequestFactory().get("/"), attack).status_code == 400
        [line] = lines(caplog)
        assert line.startswith(f"WARNING {kind.__name__}: 'attack 0\\n")
        assert len(line) < LONGEST + 200


@pytest.mark.django_db
def test_forms_without_their_csrf_token_cause_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(MANY):
        assert Client(enforce_csrf_checks=True).post("/sign-in").status_code == 403
    [line] = lines(caplog)
    assert line.startswith("WARNING csrf: ")


def test_the_line_is_repeated_after_a_while(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("config.logs.refusals.time.monotonic", lambda: now[0])
    for seconds in (0.0, EVERY - 1, 1.0, EVERY - 1):
        now[0] += seconds
        logging.getLogger("django.security.DisallowedHost").error("a host")
    assert len(lines(caplog)) == 2


def test_errors_of_berth_keep_their_tracebacks(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        logging.getLogger("django.request").error("It broke.", exc_info=ValueError("why"))
    assert lines(caplog) == ["ERROR It broke.", "ValueError: why"] * 2
