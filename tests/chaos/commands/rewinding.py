"""A test's own database that can be put back to an earlier state, on the server or in the file that the tests use."""

import os
import shutil
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.db import connections
from psycopg import sql

from tests.e2e.service import make_database

COLUMNS = "row(column_name, data_type, is_nullable, column_default)::text"
SCHEMA = (
    f"SELECT table_name, {COLUMNS} FROM information_schema.columns WHERE table_schema = 'public'",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
)


class Rewinding(ABC):
    """Django's connection leads to it."""

    @abstractmethod
    def keep(self) -> None:
        """Records its present state."""

    @abstractmethod
    def rewind(self) -> None:
        """Puts it back to that state."""

    @abstractmethod
    def read(self, *statements: str) -> list[tuple[Any, ...]]: ...

    @property
    @abstractmethod
    def schema(self) -> tuple[str, ...]: ...

    def photograph(self) -> set[tuple[str, str]]:
        """Returns its tables, and the migrations that it lists."""
        applied = self.read("SELECT app, name FROM django_migrations")
        assert len(applied) == len(set(applied))
        return {*applied, *self.read(*self.schema)}


class _File(Rewinding):
    schema = ("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL",)

    def __init__(self, file: Path) -> None:
        self.name = str(file)
        self._file, self._kept = file, file.with_suffix(".kept")

    def keep(self) -> None:
        connections["default"].close()  # the last one: SQLite moves its journal into the file
        shutil.copy2(self._file, self._kept)

    def rewind(self) -> None:
        connections["default"].close()
        for left in self._file.parent.glob(f"{self._file.name}-*"):
            left.unlink()
        shutil.copy2(self._kept, self._file)

    def read(self, *statements: str) -> list[tuple[Any, ...]]:
        connections["default"].close()
        with sqlite3.connect(self._file) as database:
            found = [row for statement in statements for row in database.execute(statement)]
        database.close()
        return found


class _OnServer(Rewinding):
    schema = SCHEMA

    def __init__(self) -> None:
        self._server = os.environ["DATABASE_URL"]
        self._url = make_database()
        self.name = self._url.rpartition("/")[2]
        self._kept = f"{self.name}_kept"

    def keep(self) -> None:
        self._copy(self.name, self._kept)

    def rewind(self) -> None:
        self._copy(self._kept, self.name)

    def _copy(self, source: str, target: str) -> None:
        _close_all()
        with psycopg.connect(self._server, autocommit=True) as server:
            # The remains of a killed process go first: nobody may be connected to what is copied.
            ended = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = %s"
            server.execute(ended, [source])
            names = sql.Identifier(target), sql.Identifier(source)
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(names[0]))
            server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))

    def read(self, *statements: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._url) as database:
            return [row for statement in statements for row in database.execute(statement.encode())]

    def remove(self) -> None:
        with psycopg.connect(self._server, autocommit=True) as server:
            for name in (self.name, self._kept):
                server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _close_all() -> None:
    connection: Any = connections["default"]
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()


@contextmanager
def rewinding_database(folder: Path) -> Iterator[Rewinding]:
    """It is empty."""
    connection = connections["default"]
    _close_all()
    made = _OnServer() if connection.vendor == "postgresql" else _File(folder / "of-its-own.sqlite3")
    usual, connection.settings_dict["NAME"] = connection.settings_dict["NAME"], made.name
    try:
        yield made
    finally:
        _close_all()
        connection.settings_dict["NAME"] = usual
        if isinstance(made, _OnServer):
            made.remove()
