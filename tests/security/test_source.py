"""What the service's own code does not do, by checking all of it."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.paths import ROOT

ROOMS = ("accounts", "config", "containers", "projects")
IMAGES = ROOT / "containers" / "images"  # runs in an agent's container, not here
SOURCES = [
    path
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
    if IMAGES not in path.parents and "migrations" not in path.parts
]
SQL = {"raw", "extra", "execute", "executemany", "cursor", "RawSQL"}
PROGRAMS = {"subprocess", "pty", "os.system", "os.popen", "os.execv", "os.execvp", "os.spawnv", "os.posix_spawn"}
UNTRUSTED = {"eval", "exec", "mark_safe", "SafeString", "pickle", "marshal", "shelve", "yaml", "safestring"}

MAY_MARK_AS_SAFE = {
    "config/api_docs/page.py",  # escapes its samples itself, except quotes, which would make a quarter of the page
}
MAY_RUN_SQL = {
    "accounts/clock.py",  # asks the database for its time
    "accounts/database/compiled_query.py",  # runs what the ORM wrote, as it wrote it
    "accounts/database/compiled_update.py",  # the same
    "accounts/database/field_index.py",  # passes a cursor to Django's introspection
    "accounts/database/insert.py",  # writes nothing but the names of a model's columns
    "accounts/database/online_index.py",  # asks whether an index is complete, and waits longer than migrations do
    # Backends of Django, which set limits of the connection and pass on what the ORM writes.
    "config/database/postgresql/base.py",
    "config/database/postgresql/connection.py",
    "config/database/postgresql/prepared.py",
    "config/database/postgresql/schema.py",
    "config/database/sqlite/base.py",
    # A backup needs the whole database: a moment of it, its sequences, its tables.
    "config/database/postgresql/copies.py",
    "config/database/sqlite/copies.py",
    "config/database/migration_lock.py",  # takes a lock of the server's
    "config/management/command_line.py",  # no SQL: `execute` is Django's name for running a command
    "projects/services/staff/growth.py",  # counts rows of tables that no model stands for
}
MAY_START_PROGRAMS = {"containers/programs.py"}


def names_in(source: str) -> Iterator[str]:
    """Every called name, by its last part and by `module.name`, and every import."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr
            if isinstance(node.func.value, ast.Name):
                yield f"{node.func.value.id}.{node.func.attr}"


def files_with(names: set[str]) -> set[str]:
    return {str(path.relative_to(ROOT)) for path in SOURCES if names & set(names_in(path.read_text()))}


def test_only_the_orm_writes_sql() -> None:
    assert files_with(SQL) == MAY_RUN_SQL


def test_programs_are_started_in_one_module_only() -> None:
    assert files_with(PROGRAMS) == MAY_START_PROGRAMS


@pytest.mark.rare(1)
def test_no_secret_comes_from_a_predictable_generator() -> None:
    assert files_with({"random"}) == set()
    assert files_with({"secrets"})


def test_no_outside_input_is_executed_or_marked_safe() -> None:
    assert files_with(UNTRUSTED) == MAY_MARK_AS_SAFE


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("Project.objects.raw(sql)", SQL),
        ("with connection.cursor() as c: c.execute(sql)", SQL),
        ("from subprocess import run", PROGRAMS),
        ("import os; os.system('ls')", PROGRAMS),
        ("from random import choice", {"random"}),
        ("from django.utils.safestring import mark_safe", UNTRUSTED),
    ],
)
def test_the_checker_finds_planted_violations(planted: str, found: set[str]) -> None:
    assert found & set(names_in(planted))


def test_templates_escape_everything_and_hold_no_script_and_no_style() -> None:
    templates = sorted((ROOT / "templates").rglob("*.html"))
    assert len(templates) > 20
    forbidden = re.compile(
        r"\|\s*safe\b|autoescape\s+off|<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)", re.IGNORECASE
    )
    assert [path.name for path in templates if forbidden.search(path.read_text())] == []


def test_no_program_is_started_through_a_shell() -> None:
    [file] = MAY_START_PROGRAMS
    calls = [node for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.Call)]
    starts = [call for call in calls if ast.unparse(call.func).startswith("subprocess.")]
    assert [ast.unparse(call.func) for call in starts] == ["subprocess.Popen", "subprocess.run"]
    again, other = starts
    assert ast.unparse(again.args[0]) == "command"  # a list, as its annotation says
    assert isinstance(other.args[0], ast.List)
    assert "shell" not in {keyword.arg for call in starts for keyword in call.keywords}
