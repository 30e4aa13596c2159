"""Each migration since a release leaves what its servers use: they may run on while it is carried out."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.db.models.functions import Lower

from accounts.database.online_index import AddIndexOnline
from tests.upgrade.expanding import Judge, complaints_since, operations_since
from tests.upgrade.releases import APPS, RELEASES, Release

ACCEPTED = {
    "projects.0007_events_for_readers: AlterField event.project_id": "drops an index that another one replaces",
    "projects.0007_events_for_readers: AddIndex event_by_project": "releases before it had few events",
    "projects.0007_events_for_readers: AddIndex event_by_time": "releases before it had few events",
    "projects.0015_allowances: RunPython keep_what_owners_have": "writes to a new table only",
    "projects.0016_unconfirmed_bots: RemoveConstraint project.one_live_project_per_bot": (
        "0.1.0 looks before it writes, too; the next constraint refuses what slips through"
    ),
    "projects.0016_unconfirmed_bots: AddConstraint one_confirmed_project_per_bot": "weaker than the one it replaces",
    "projects.0016_unconfirmed_bots: RunPython mark_unconfirmed": "writes to a new column only",
    "projects.0021_disk: RunPython give_larger_plans_more": "writes to a new column only",
    "projects.0024_reserved_memory: RunPython note_memory": "writes to a new column only",
    "projects.0027_budgets_of_plans: RunPython give_shipped_plans_a_budget": "writes to new columns only",
    "projects.0039_nanobot_and_hermes: RunPython ship": "adds rows that no server offers",
    "projects.0036_types_describe_themselves: RunPython describe_the_shipped_type": (
        "writes to new columns, and titles that no server of a release reads"
    ),
    "projects.0042_limits_of_the_assistant: RunPython add_settings": "adds to a schema, as staff may",
    "projects.0045_voice_of_the_assistant: RunPython add_settings": "adds to a schema, as staff may",
    "projects.0046_tools_of_the_assistant: RunPython add_settings": "adds to a schema, as staff may",
    "projects.0047_web_and_mcp_of_the_assistant: RunPython add_settings": "adds to a schema, as staff may",
    "projects.0051_server_credentials: RunPython add_setting": "adds to a schema, as staff may",
    "projects.0054_tallies: RunPython begin_at_the_newest": "adds a row that is a reader of events to older servers",
    "projects.0062_replaced_indexes: RemoveIndex project.project_by_deadline": "project_in_operation replaces it",
    "projects.0062_replaced_indexes: RemoveIndex project.project_by_budget_end": "project_over_budget replaces it",
    "projects.0062_replaced_indexes: DropFieldIndex project.agent_type": "project_by_type replaces it",
    "projects.0062_replaced_indexes: DropFieldIndex project.plan": "project_by_plan replaces it",
    "projects.0033_pairing_of_types: RunPython let_the_shipped_type_pair": (
        "writes to a new column, and to a schema that takes one word more: an older server says that it does not"
    ),
}
"""What an old server can go on with all the same, and why. What takes something away names the first release that does
without: only when servers from before it are no longer upgraded from, it may be listed."""


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version)
def test_a_server_of_the_last_release_keeps_working(release: Release) -> None:
    complaints = complaints_since(release)
    assert {name: why for name, why in complaints.items() if name not in ACCEPTED} == {}


@pytest.mark.one_database
def test_no_accepted_exception_is_obsolete() -> None:
    assert set(ACCEPTED) <= set(complaints_since(RELEASES[-1]))


@pytest.mark.one_database
def test_the_listed_releases_match_the_migrations() -> None:
    """A release is a point in the history of migrations, and the later ones come after the earlier ones."""
    loader = MigrationLoader(None)
    plans = [{key for leaf in release.migrations for key in loader.graph.forwards_plan(leaf)} for release in RELEASES]
    assert all(later >= earlier for later, earlier in pairwise(plans))
    assert len(operations_since(RELEASES[-1])) > len(operations_since(RELEASES[0]))


@pytest.mark.one_database
def test_a_migration_is_applied_whole_or_not_at_all() -> None:
    """One that is no transaction could not be tried again after it gave way to others, but where each step finds what
    it has done before.
    """
    ours = {key: each for key, each in MigrationLoader(None).disk_migrations.items() if key[0] in APPS}
    is_online = {key: [isinstance(step, AddIndexOnline) for step in each.operations] for key, each in ours.items()}
    assert [key for key, each in ours.items() if not each.atomic and not all(is_online[key])] == []
    assert [key for key, each in ours.items() if each.atomic and any(is_online[key])] == []


TEXT = models.CharField(max_length=9)
BAD = {
    "a column without a default": migrations.AddField("event", "x", TEXT),
    "one whose default is Django's": migrations.AddField("event", "x", models.CharField(max_length=9, default="")),
    "a unique one with a default": migrations.AddField(
        "event", "x", models.CharField(max_length=9, db_default="", unique=True)
    ),
    "a column that goes": migrations.RemoveField("event", "detail"),
    "a column with another name": migrations.RenameField("event", "detail", "details"),
    "a longer text": migrations.AlterField("event", "detail", models.CharField(max_length=301, blank=True)),
    "no null any more": migrations.AlterField("event", "address", models.GenericIPAddressField(default="::")),
    "a table that goes": migrations.DeleteModel("event"),
    "a table with another name": migrations.RenameModel("event", "happening"),
    "a table that is called otherwise": migrations.AlterModelTable("event", "happenings"),
    "SQL": migrations.RunSQL("SELECT 1"),
    "a program": migrations.RunPython(migrations.RunPython.noop),
    "an index on a large table": migrations.AddIndex("event", models.Index(fields=["actor"], name="by_actor")),
    "a rule for what was there": migrations.AddConstraint(
        "event", models.CheckConstraint(condition=~models.Q(actor=""), name="has_actor")
    ),
    "another rule": migrations.AddConstraint("event", models.UniqueConstraint(Lower("actor"), name="one_actor")),
    "a rule that goes": migrations.RemoveConstraint("project", "one_confirmed_project_per_bot"),
    "an index that goes": migrations.RemoveIndex("event", "event_by_time"),
    "columns that are unique together": migrations.AlterUniqueTogether("event", {("actor", "at")}),
}
GOOD = {
    "an index that nobody waits for": AddIndexOnline("event", models.Index(fields=["actor"], name="by_actor")),
    "a column that may be null": migrations.AddField("event", "x", models.CharField(max_length=9, null=True)),
    "one with a default of the database": migrations.AddField(
        "event", "x", models.CharField(max_length=9, db_default="")
    ),
    "an index on a small table": migrations.AddIndex("plan", models.Index(fields=["cpus"], name="by_cpus")),
    "other words for people": migrations.AlterField(
        "event", "detail", models.CharField(max_length=300, blank=True, help_text="What came of it.")
    ),
    "another order": migrations.AlterModelOptions("event", {"ordering": ["pk"]}),
}


def judged(operation: migrations.operations.base.Operation) -> str:
    loader = MigrationLoader(None)
    before: ProjectState = loader.project_state()
    after = before.clone()
    operation.state_forwards("projects", after)
    return Judge().judge("projects", operation, before, after)


@pytest.mark.parametrize("kind", BAD)
def test_changes_that_break_an_old_server_are_found(kind: str) -> None:
    assert judged(BAD[kind])


@pytest.mark.parametrize("kind", GOOD)
def test_harmless_changes_pass(kind: str) -> None:
    assert judged(GOOD[kind]) == ""


def test_constraints_of_new_tables_and_columns_pass() -> None:
    judge, nothing = Judge(), ProjectState()
    steps = [
        migrations.CreateModel("Note", [("id", models.BigAutoField(primary_key=True))]),
        migrations.AddField("note", "text", TEXT),
        migrations.AddIndex("note", models.Index(fields=["text"], name="by_text")),
        migrations.AddField("project", "uid", models.IntegerField(null=True)),
        migrations.AddConstraint("project", models.UniqueConstraint(fields=["uid"], name="one_uid")),
    ]
    assert [judge.judge("projects", step, nothing, nothing) for step in steps] == [""] * 5


# -- what the database itself says ------------------------------------------------------------------------------------


def columns(state: ProjectState) -> Iterator[tuple[str, Any]]:
    for model in state.apps.get_models(include_auto_created=True):
        if model._meta.app_label in APPS:
            for field in model._meta.local_concrete_fields:
                yield model._meta.db_table, field


@pytest.mark.django_db
@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version)
def test_columns_of_the_release_exist_and_new_columns_have_a_default(
    release: Release,
) -> None:
    loader = MigrationLoader(connection)
    old = {(table, field.column): field for table, field in columns(loader.project_state(list(release.migrations)))}
    new = {(table, field.column): field for table, field in columns(loader.project_state())}
    wrong = [key for key in old if key not in new or old[key].db_type(connection) != new[key].db_type(connection)]
    with connection.cursor() as cursor:
        for table in {table for table, _ in old}:
            for found in connection.introspection.get_table_description(cursor, table):
                key = (table, found.name)
                is_kept = key in old and (bool(found.null_ok) or not old[key].null)
                has_value = key not in old and (bool(found.null_ok) or found.default is not None)
                wrong += [] if is_kept or has_value else [key]
    assert len(old) > 80
    assert wrong == []


@pytest.mark.one_database
def test_the_commits_are_in_the_history() -> None:
    if not any(release.is_here for release in RELEASES):
        pytest.skip("this checkout has no history, or another one")
    assert [release.version for release in RELEASES if not release.is_here] == []


def test_each_migration_locks_the_projects_table_first() -> None:
    """As servers do, which write a project and then, where the transaction ends, look at what it refers to."""
    wrong = {}
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        made = {each.name_lower for each in migration.operations if isinstance(each, migrations.CreateModel)}
        names = [getattr(each, "model_name_lower", "") for each in migration.operations]
        taken = [each for each in names if each and each not in made]
        if app == "projects" and "project" in taken[1:] and taken[0] != "project":
            wrong[name] = taken
    assert wrong == {}
