"""What every test gets: an empty engine, no way to the outside, and a search for leaked credentials at its end."""

import gc
import logging
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_django
from django.conf import settings as django_settings
from django.core import serializers
from django.db import connection

from accounts.services import notice, still_signed_in
from config.database import limits
from config.http import middleware
from containers.docker.volumes import handover
from containers.get_engine import get_engine
from containers.identity import forget_installation_id
from projects.models import AgentType, Plan
from tests import canaries, migrated
from tests.databases import commits, is_for_postgresql, touches_database
from tests.emptying import empty_after_each_test_that_commits
from tests.fakes.engine import MemoryEngine
from tests.sockets import stay_inside

pytest_plugins = ["tests.clients", "tests.sampling"]

PATIENCE = 100.0
"""Seconds that a request of a test may take."""

PROCESS = os.getpid()


def pytest_configure() -> None:
    stay_inside()
    signal.signal(signal.SIGTERM, _end_as_by_ctrl_c)
    for chatty in ("faker", "push_response"):  # a line for each answer of Redis, which says that it came
        logging.getLogger(chatty).setLevel(logging.INFO)
    empty_after_each_test_that_commits()
    notice.KEPT_FOR = 0.0
    gc.disable()  # to the end of the collection, which makes half a million objects and no garbage


def _end_as_by_ctrl_c(number: int, _frame: object) -> None:
    """`timeout` sends this, and else no fixture would take away what it has on an engine. A fork just ends."""
    if os.getpid() == PROCESS:
        raise KeyboardInterrupt
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


@pytest.fixture(autouse=True)
def engine() -> MemoryEngine:
    """The in-memory engine that the service uses in this test; nothing runs on it yet."""
    engine = get_engine()
    assert isinstance(engine, MemoryEngine)
    engine.reset()
    forget_installation_id()
    return engine


@pytest.fixture(autouse=True)
def _patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time for the threads of a test that share two busy cores. A test of the limits themselves is marked `hurried`."""
    if "hurried" not in request.keywords:
        for module, name in (
            (limits, "REQUEST"),
            (limits, "ANSWER"),
            (middleware, "OUTSIDE_WITHIN"),
            (middleware, "DATABASE_WITHIN"),
            (still_signed_in, "ASK_AGAIN_AFTER"),
            (handover, "WAIT_LIMIT"),
        ):
            monkeypatch.setattr(module, name, PATIENCE)
        if connection.vendor == "postgresql":
            # A test may have more threads than a server, so that some of them wait for a connection.
            monkeypatch.setattr(connection.pool, "timeout", PATIENCE)  # type: ignore[attr-defined]  # PostgreSQL has it


@pytest.fixture(autouse=True)
def _no_leaks() -> Iterator[None]:
    """Fails the test that lets a canary into an answer or a log line."""
    canaries.leaks.clear()
    handler = canaries.CanaryHandler()
    logging.getLogger().addHandler(handler)
    yield
    logging.getLogger().removeHandler(handler)
    assert not canaries.leaks


@pytest.fixture(autouse=True)
def _catalogue(request: pytest.FixtureRequest) -> None:
    """The rows that migrations ship, also for a test that commits: the one before it has emptied every table.

    Django's own `serialized_rollback` puts them back only where every test that commits asks for it.
    """
    if commits(request.node):
        request.getfixturevalue("transactional_db")
        if not Plan.objects.exists():
            for row in serializers.deserialize("python", request.getfixturevalue("django_db_setup")):
                row.save()


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb: bool) -> bool:
    """Begins with the migrated database where one is there for all processes of a run."""
    if connection.vendor != "sqlite" or migrated.MADE not in os.environ:
        return django_db_keepdb
    shutil.copy2(migrated.migrated(), django_settings.DATABASES["default"]["TEST"]["NAME"])
    return True


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[Any]:
    """Yields the rows that migrations ship. Searches the database file for canaries before it goes."""
    with django_db_blocker.unblock():
        shipped = serializers.serialize("python", [*Plan.objects.all(), *AgentType.objects.all()])
    yield shipped
    if connection.vendor == "sqlite":
        connection.close()
        database = Path(django_settings.DATABASES["default"]["TEST"]["NAME"])
        for file in database.parent.glob(f"{database.name}*"):
            with suppress(FileNotFoundError):  # SQLite takes its journals away when the last connection closes
                assert canaries.find_canary(file.read_bytes()) is None, f"{file.name} holds a credential in plain text"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-database", action="store_true", help="Leave out the tests that touch no database: once is enough."
    )
    parser.addoption("--agents", default="assistant", help="Types for tests/agents/long/table.py; all: each.")
    parser.addoption(
        "--beside",
        action="store_true",
        help="Both databases are tested side by side, each with a part of the large families.",
    )
    parser.addoption("--pictures", default="", help="The folder for the pictures of every page.")
    parser.addoption("--socket-proxy", action="store_true", help="All contract tests through the socket proxy.")
    parser.addoption("--whole", action="store_true", help="Run all cases of the families of which a sample is enough.")
    parser.addoption("--sample-seed", type=int, default=0, help="Another number takes other cases of those families.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    on_sqlite = "sqlite" in django_settings.DATABASES["default"]["ENGINE"]
    unwanted = [
        item
        for item in items
        if (on_sqlite and (item.get_closest_marker("postgres_only") or is_for_postgresql(item)))
        or (config.getoption("--only-database") and not touches_database(item))
    ]
    if unwanted:
        config.hook.pytest_deselected(items=unwanted)
        left_out = set(map(id, unwanted))
        items[:] = [item for item in items if id(item) not in left_out]
    # Last, because Playwright leaves an event loop running in this thread, and under one Django opens connections anew,
    # which know nothing of the data that migrations have shipped.
    items.sort(key=lambda item: "browser" in item.path.parts)


def pytest_collection_finish() -> None:
    """Ten thousand tests are half a million objects that live to the end: no collection need look at them again."""
    gc.collect()
    gc.freeze()
    gc.enable()
