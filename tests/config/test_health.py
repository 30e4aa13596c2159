"""/healthz reports that the process lives, /readyz whether it can work."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import psycopg.errors
import pytest
from django.conf import settings
from django.db import DatabaseError, OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from projects.models import Installation, Watch
from projects.models.installation import read_installation
from tests.fakes.engine import MemoryEngine


def test_healthz_depends_on_nothing_else(client: Client, engine: MemoryEngine) -> None:
    engine.unavailable = True
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert engine.calls == []


@pytest.mark.django_db
def test_readyz_is_green_when_database_and_engine_answer(client: Client) -> None:
    response = client.get("/readyz")
    assert (response.status_code, response.json()) == (200, {"status": "ok", "database": "ok", "engine": "ok"})


@pytest.mark.django_db
def test_readyz_names_the_engine_that_does_not_answer(client: Client, engine: MemoryEngine) -> None:
    engine.unavailable = True
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "database": "ok", "engine": "unavailable"}


@pytest.mark.django_db
def test_readyz_names_the_database_that_does_not_answer(client: Client) -> None:
    def refuse(*_: object) -> None:
        raise DatabaseError("no such table")

    with connection.execute_wrapper(refuse):
        response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "database": "unavailable", "engine": "ok"}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_checks_change_nothing_and_take_no_body(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405


@pytest.mark.django_db
def test_readyz_reports_suspended_repairs_without_details(client: Client) -> None:
    installation = read_installation()
    Installation.objects.filter(pk=installation.pk).update(held_because="The engine has 7 containers too many.")
    response = client.get("/readyz")
    assert response.status_code == 200  # a restart would not help
    assert response.json()["mending"].startswith("held: nothing is repaired until an operator decides")
    assert "7" not in response.content.decode()
    Installation.objects.update(held_because="")
    assert "mending" not in client.get("/readyz").json()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("ReadOnlySqlTransaction", "read-only"),
        ("LockNotAvailable", "busy"),
        ("DiskFull", "full"),
        ("AdminShutdown", "unavailable"),
    ],
)
def test_readyz_names_the_problem_of_the_database(client: Client, state: str, word: str) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError from getattr(psycopg.errors, state)()

    with connection.execute_wrapper(refuse):
        response = client.get("/readyz")
    assert (response.status_code, response.json()["database"]) == (503, word)


@pytest.mark.django_db
def test_readyz_writes_because_a_read_does_not_detect_a_standby(client: Client) -> None:
    read_installation()
    with CaptureQueriesContext(connection) as queries:
        assert client.get("/readyz").status_code == 200
    assert queries[0]["sql"].startswith("UPDATE")


@pytest.mark.django_db
def test_readyz_gives_the_engine_the_time_of_a_read(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent engine would otherwise block it for ten seconds."""
    asked: list[str] = []

    @contextmanager
    def read_deadline() -> Iterator[None]:
        asked.append("begin")
        yield
        asked.append("end")

    engine = SimpleNamespace(read_deadline=read_deadline, ping=lambda: asked.append("ping"))
    monkeypatch.setattr("config.health.get_engine", lambda: engine)
    assert client.get("/readyz").status_code == 200
    assert asked == ["begin", "ping", "end"]


@pytest.mark.django_db
def test_readiness_reports_a_firewall_that_does_not_hold(client: Client) -> None:
    """It does not report the reason, which is for the staff. Requests continue."""
    watch = Watch.objects.create(instance=settings.BERTH_INSTANCE, firewall_warning="iptables is not installed here.")
    Watch.objects.create(instance="another", firewall_warning="of another installation")
    response = client.get("/readyz")
    expected = {"status": "ok", "database": "ok", "engine": "ok", "firewall": "missing"}
    assert (response.status_code, response.json()) == (200, expected)
    watch.firewall_warning = ""
    watch.save()
    assert "firewall" not in client.get("/readyz").json()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_writing_methods_are_refused_in_one_sentence(path: str) -> None:
    """They are not refused as forms without a token, with a page."""
    answer = Client(enforce_csrf_checks=True).post(path)
    assert (answer.status_code, answer.headers["Allow"], answer.headers["Content-Type"]) == (
        405, "GET, HEAD", "text/plain; charset=utf-8",
    )  # fmt: skip
    assert b"Allow" in answer.content
