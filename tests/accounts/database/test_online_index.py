"""An index is added while others write to its table, and rebuilt if that was interrupted."""

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import connection, models
from django.db.migrations.state import ModelState, ProjectState
from django.db.utils import OperationalError
from django.test.utils import CaptureQueriesContext

from accounts.database.online_index import AddIndexOnline
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

ADDED = AddIndexOnline("note", models.Index(fields=["text"], name="note_by_text"))
WRITE = "INSERT INTO notes_of_a_test (text) VALUES ('a')"


class Table:
    """A table with or without the index."""

    def __init__(self) -> None:
        fields: list[tuple[str, models.Field[Any, Any]]] = [
            ("id", models.BigAutoField(primary_key=True)),
            ("text", models.TextField()),
        ]
        self.state = ProjectState()
        self.state.add_model(ModelState("projects", "Note", fields, {"db_table": "notes_of_a_test"}))
        self.model = self.state.apps.get_model("projects", "note")

    def add_index(self, using: Any = connection) -> None:
        with using.schema_editor(atomic=False) as editor:
            ADDED.database_forwards("projects", editor, self.state, self.state)

    def index(self) -> str:
        """`none`, `broken` or `whole`."""
        with connection.cursor() as cursor:
            if connection.vendor != "postgresql":
                there = ADDED.index.name in connection.introspection.get_constraints(cursor, "notes_of_a_test")
                return "whole" if there else "none"
            cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('note_by_text')")
            found = cursor.fetchone()
        return "none" if found is None else "whole" if found[0] else "broken"


@pytest.fixture
def table() -> Iterator[Table]:
    made = Table()
    with connection.schema_editor() as editor:
        editor.create_model(made.model)
    yield made
    with connection.schema_editor() as editor:
        editor.delete_model(made.model)


def test_an_existing_index_is_kept(table: Table) -> None:
    table.add_index()
    assert table.index() == "whole"
    with CaptureQueriesContext(connection) as asked:
        table.add_index()
    assert [each["sql"] for each in asked if "INDEX" in each["sql"]] == []


def test_others_can_write_meanwhile_and_an_interrupted_index_is_rebuilt(table: Table) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time.")
    failed: list[Exception] = []
    kept: list[str] = []

    def add() -> None:
        with closing(connection.copy()) as own:
            try:
                table.add_index(own)
            except OperationalError as error:
                failed.append(error)
            with own.cursor() as cursor:
                cursor.execute("SELECT current_setting('lock_timeout')")
                kept.append(cursor.fetchone()[0])

    with closing(connection.copy()) as earlier, closing(connection.copy()) as other:
        earlier.set_autocommit(False)
        earlier.cursor().execute(WRITE)  # for whose end PostgreSQL waits
        adding = threading.Thread(target=add)
        adding.start()
        wait_until(lambda: table.index() == "broken", within=30)
        with other.cursor() as cursor:
            # Nobody else waits. The limit ends with the transaction, because the pool keeps this connection: a RESET
            # would leave the server's default, which is no limit.
            cursor.execute(f"BEGIN; SET LOCAL lock_timeout = 1000; {WRITE}; COMMIT")
        is_creating = "query LIKE 'CREATE INDEX%' AND datname = current_database()"
        other.cursor().execute(f"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE {is_creating}")
        adding.join(30)
        assert (len(failed), table.index()) == (1, "broken")
        assert kept == ["8s"]
        earlier.rollback()
    table.add_index()
    assert table.index() == "whole"
