"""Drops the index of a field and leaves its table and its constraint alone."""

from typing import Any

from django.db import migrations, models


class DropFieldIndex(migrations.AlterField):
    """Django's `AlterField`, for a field of which only `db_index` changes, to false.

    Django would check the foreign key of every row again, copy the table on SQLite, and on PostgreSQL leave the second
    index that it gives to text (`_like`), which every write maintains.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, _before: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            for name in self._find_indexes(schema_editor.connection, model):
                schema_editor.remove_index(model, models.Index(fields=[self.name], name=name))

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        super().database_forwards(app_label, schema_editor, from_state, to_state)

    def _find_indexes(self, connection: Any, model: Any) -> list[str]:
        """Returns the names of the indexes of this column alone that no declared index or constraint has."""
        column = model._meta.get_field(self.name).column
        declared = {each.name for each in (*model._meta.indexes, *model._meta.constraints)}
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, model._meta.db_table)
        return [
            name
            for name, each in found.items()
            if each["index"] and not each["unique"] and each["columns"] == [column] and name not in declared
        ]
