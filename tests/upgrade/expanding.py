"""Tells of each operation of a migration whether a server of the release before can go on with it."""

from dataclasses import dataclass, field
from typing import Any

from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from accounts.database.online_index import AddIndexOnline
from tests.upgrade.releases import APPS, Release

SMALL = frozenset({"plan", "agenttype", "installation", "watch", "enginehost", "keycheck", "longrequest"})
"""Tables of a row for each thing that staff made or chose, where an index is made in an instant."""

HARMLESS = (
    migrations.CreateModel,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.AlterModelTableComment,
    AddIndexOnline,
)


@dataclass
class Judge:
    """Goes through the operations since a release, and remembers which tables and columns are new since."""

    new_models: set[tuple[str, str]] = field(default_factory=set)
    new_fields: set[tuple[str, str, str]] = field(default_factory=set)

    def judge(self, app: str, operation: Operation, before: ProjectState, after: ProjectState) -> str:
        """Why an old server could not go on, or nothing."""
        if isinstance(operation, migrations.CreateModel):
            self.new_models.add((app, operation.name_lower))
        name = getattr(operation, "model_name_lower", getattr(operation, "name_lower", ""))
        if isinstance(operation, HARMLESS) or (app, name) in self.new_models:
            return ""
        match operation:
            case migrations.AddField():
                return self._judge_new_column(app, operation)
            case migrations.AlterField():
                return _judge_altered_column(app, operation, before, after)
            case migrations.AddIndex():
                return "" if name in SMALL else "the table cannot be written to while the index is made"
            case migrations.AddConstraint():
                return self._judge_constraint(app, operation)
        return f"{type(operation).__name__} takes away what an old server may use, or does what nobody can tell"

    def _judge_new_column(self, app: str, operation: migrations.AddField) -> str:
        self.new_fields.add((app, operation.model_name_lower, operation.name))
        added = operation.field
        has_default = added.null or added.db_default is not models.NOT_PROVIDED or added.many_to_many
        if not has_default:
            return "an INSERT of an old server leaves the column out: it takes null, or a db_default"
        return "old rows would all be the same" if added.unique and not added.null else ""

    def _judge_constraint(self, app: str, operation: migrations.AddConstraint) -> str:
        named = set(getattr(operation.constraint, "fields", ()))
        if named and all((app, operation.model_name_lower, name) in self.new_fields for name in named):
            return ""
        return "an old server may write what it refuses"


def _judge_altered_column(app: str, operation: migrations.AlterField, before: ProjectState, after: ProjectState) -> str:
    old, new = (
        state.apps.get_model(app, operation.model_name)._meta.get_field(operation.name) for state in (before, after)
    )
    editor: Any = connection.schema_editor(collect_sql=True)
    changes = editor._field_should_be_altered(old, new)
    return "the column changes, which breaks prepared statements, or what an old server writes" if changes else ""


def operations_since(release: Release) -> list[tuple[str, str, Operation, ProjectState, ProjectState]]:
    """App, migration and operation, with the models before and after. Of a change of models only, nothing is told."""
    loader = MigrationLoader(None)
    state = loader.project_state(list(release.migrations))
    done = {key for leaf in release.migrations for key in loader.graph.forwards_plan(leaf)}
    found = []
    for key in loader.graph._generate_plan(loader.graph.leaf_nodes(), at_end=True):
        if key in done or key[0] not in APPS:
            continue
        for operation in loader.disk_migrations[key].operations:
            after = state.clone()
            operation.state_forwards(key[0], after)
            parts = getattr(operation, "database_operations", [operation])
            found += [(*key, part, state, after) for part in parts]
            state = after
    return found


def complaints_since(release: Release) -> dict[str, str]:
    """By migration, operation and name: why it is no expansion."""
    judge, found = Judge(), {}
    for app, name, operation, before, after in operations_since(release):
        if complaint := judge.judge(app, operation, before, after):
            found[f"{app}.{name}: {type(operation).__name__} {name_of(operation)}".rstrip()] = complaint
    return found


def name_of(operation: Operation) -> str:
    for name in ("constraint", "index"):
        if hasattr(operation, name):
            return str(getattr(operation, name).name)
    if isinstance(operation, migrations.RunPython):
        return str(getattr(operation.code, "__name__", ""))
    parts = [getattr(operation, name, "") for name in ("model_name_lower", "name")]
    return ".".join(part for part in parts if part)
