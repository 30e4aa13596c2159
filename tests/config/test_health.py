"""/healthz says that the process lives, /readyz whether it can work."""

import pytest
from django.db import DatabaseError, connection
from django.test import Client

from tests.fakes.engine import MemoryEngine


def test_healthz_asks_nobody_else(client: Client, engine: MemoryEngine) -> None:
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
