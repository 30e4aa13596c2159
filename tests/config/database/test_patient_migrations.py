"""`migrate` on a busy table: it waits for each migration separately."""

from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management.base import CommandError

from config.management.commands import migrate


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses. Time passes by their length."""
    pauses: list[float] = []
    clock = SimpleNamespace(sleep=pauses.append, monotonic=lambda: sum(pauses))
    monkeypatch.setattr(migrate, "time", clock)
    return pauses


def run(monkeypatch: pytest.MonkeyPatch, applied: list[int]) -> str:
    """Migrates, with a number for each attempt that does not get its locks: how many migrations are done by then."""
    left = iter(applied)
    now: list[int] = []

    def try_to_migrate(*_: Any) -> bool:
        now[:] = [number] if (number := next(left, None)) is not None else []
        return not now

    class Recorder:
        def __init__(self, _connection: Any) -> None: ...

        def applied_migrations(self) -> range:
            return range(now[0])

    said = StringIO()
    command = migrate.Command(stderr=said)
    monkeypatch.setattr(command, "_try_to_migrate", try_to_migrate)
    monkeypatch.setattr(migrate, "MigrationRecorder", Recorder)
    command._migrate_patiently(None, (), {})
    return said.getvalue()


def test_the_pauses_restart_with_each_migration(monkeypatch: pytest.MonkeyPatch, paused: list[float]) -> None:
    assert run(monkeypatch, [5, 5, 5, 5, 5, 6, 6, 9]).count("Waiting for a table") == 1
    assert paused == [0.5, 1.0, 2.0, 4.0, 4.0, 0.5, 1.0, 0.5]


def test_a_migration_that_never_gets_its_locks_is_given_up(
    monkeypatch: pytest.MonkeyPatch, paused: list[float]
) -> None:
    with pytest.raises(CommandError, match="another transaction keeps it locked"):
        run(monkeypatch, [5] * 10_000)
    assert migrate.TRIES_FOR < sum(paused) < migrate.TRIES_FOR + 5
    paused.clear()
    assert run(monkeypatch, [number // 100 for number in range(1000)])
    assert sum(paused) > 3 * migrate.TRIES_FOR
