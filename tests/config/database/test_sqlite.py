"""SQLite while another process writes, or with a full disk."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from rest_framework.test import APIClient

from config.database import limits
from projects.models import EventCursor
from tests.clients import api_of, make_person
from tests.deploying import PROJECT

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.one_database,
    pytest.mark.skipif("sqlite" not in settings.DATABASES["default"]["ENGINE"], reason="about SQLite"),
]


@contextmanager
def locked() -> Iterator[None]:
    """Another process is writing."""
    other = sqlite3.connect(settings.DATABASES["default"]["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.rollback()
        other.close()


def test_json_support_is_detected_while_another_process_writes() -> None:
    """Otherwise a second `migrate` that starts while one is running would refuse to start."""
    with locked():
        assert type(connection.features)(connection).supports_json_field


@pytest.fixture
def api() -> APIClient:
    client = api_of(make_person("alice"))
    client.raise_request_exception = False
    return client


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    connection.close()
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.05)
    yield
    connection.close()


@pytest.mark.usefixtures("_hasty")
def test_a_locked_database_is_reported_in_a_sentence(api: APIClient) -> None:
    with locked():
        answer = api.post("/api/projects", PROJECT)
        ready = api.get("/readyz")
        assert api.get("/api/projects").status_code == 200  # readers wait for nobody
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert answer.json()["detail"].startswith("The database is busy")
    assert int(answer["Retry-After"]) >= 1
    assert (ready.status_code, ready.json()) == (503, {"status": "unavailable", "database": "busy", "engine": "ok"})
    assert api.post("/api/projects", PROJECT).status_code == 201
    assert api.get("/readyz").status_code == 200


def test_the_wait_for_a_lock_ends_with_the_request() -> None:
    def busy_timeout() -> int:
        return int(connection.cursor().execute("PRAGMA busy_timeout").fetchone()[0])

    longest = connection.settings_dict["OPTIONS"]["timeout"] * 1000
    assert busy_timeout() == longest
    with limits.request_limits(2.0):
        assert 0 < busy_timeout() <= 2000
    with limits.request_limits(-1.0):
        assert busy_timeout() == 0
    assert busy_timeout() == longest


def test_a_full_disk_is_reported_in_a_sentence(api: APIClient) -> None:
    with connection.cursor() as cursor:
        before = cursor.execute("PRAGMA max_page_count").fetchone()[0]
        pages = cursor.execute("PRAGMA page_count").fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages}")
    try:
        answer = fill(api)
    finally:
        connection.cursor().execute(f"PRAGMA max_page_count = {before}")
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert answer.json()["detail"] == "The database has no space left. Tell the staff of this installation."


def fill(api: APIClient) -> Any:
    """Deploys until there is no room for another project, which is soon, because the file cannot grow."""
    for number in range(200):
        body = PROJECT | {"telegramToken": f"{1000 + number}:AA", "settings": {"instructions": "x" * 8000}}
        answer = api.post("/api/projects", body)
        if answer.status_code != 201:
            return answer
    raise AssertionError("There was always room.")


def test_a_thread_that_waits_for_the_lock_gets_it(api: APIClient) -> None:
    EventCursor.objects.create(name="row", last_event_id=1)
    done: list[int] = []

    def write() -> None:
        done.append(EventCursor.objects.update(last_event_id=2))
        connection.close()

    thread = threading.Thread(target=write)
    with locked():
        thread.start()
    thread.join(60)
    assert done == [1]
