"""A field loses its index, and nothing else is made anew."""

from typing import Any

import pytest
from django.db import connection, models
from django.db.migrations.state import ModelState, ProjectState
from django.test.utils import CaptureQueriesContext

from accounts.database.field_index import DropFieldIndex

pytestmark = pytest.mark.django_db(transaction=True)

DECLARED = models.Index(fields=["kind"], name="note_by_kind")


def reference(*, db_index: bool) -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey("projects.Kind", models.PROTECT, related_name="notes", db_index=db_index)


def states() -> tuple[ProjectState, ProjectState]:
    before = ProjectState()
    before.add_model(ModelState("projects", "Kind", [("slug", models.SlugField(primary_key=True))]))
    fields = [("id", models.BigAutoField(primary_key=True)), ("kind", reference(db_index=True))]
    before.add_model(ModelState("projects", "Note", fields, {"indexes": [DECLARED]}))
    after = before.clone()
    DROP.state_forwards("projects", after)
    return before, after


DROP = DropFieldIndex("note", "kind", reference(db_index=False))


def indexes(model: Any) -> set[str]:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, model._meta.db_table)
    return {name for name, each in found.items() if each["index"] and each["columns"] == ["kind_id"]}


def test_only_the_index_of_the_field_goes_and_it_can_come_back() -> None:
    before, after = states()
    kind, note = (before.apps.get_model("projects", name) for name in ("kind", "note"))
    with connection.schema_editor() as editor:
        editor.create_model(kind)
        editor.create_model(note)
    try:
        had = indexes(note)
        assert len(had) == (3 if connection.vendor == "postgresql" else 2)
        with CaptureQueriesContext(connection) as done, connection.schema_editor() as editor:
            DROP.database_forwards("projects", editor, before, after)
        assert indexes(note) == {DECLARED.name}
        sent = [each["sql"].split() for each in done]
        assert {words[0] for words in sent} <= {"SELECT", "PRAGMA", "BEGIN", "COMMIT", "DROP"}, "more is made anew"
        with connection.schema_editor() as editor:
            DROP.database_backwards("projects", editor, after, before)
        assert indexes(note) == had
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(note)
            editor.delete_model(kind)
