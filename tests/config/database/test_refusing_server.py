"""Commands say what to do about a server that refuses: its user has no rights, or it is a standby, or not prepared."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from django.db import InternalError, OperationalError, ProgrammingError, connection
from django.db.utils import Error
from psycopg import sql

from config.database import explanations
from config.database.explanations import explain_fault
from tests.config.database.test_faults import of_postgresql
from tests.paths import ROOT
from tests.ports import reserve_port

OWNER = "Make the user of DATABASE_URL the owner of the database and of Berth's tables, then run this again."
ADVICE = {
    "InsufficientPrivilege": (ProgrammingError, OWNER),
    "UndefinedTable": (ProgrammingError, "Run `make upgrade`, or `manage.py prepare`, then run this again."),
    "UndefinedColumn": (ProgrammingError, "Run `make upgrade`, or `manage.py prepare`, then run this again."),
    "LockNotAvailable": (OperationalError, "Run this again when that has finished."),
    "ReadOnlySqlTransaction": (InternalError, "or run this again when this one accepts changes."),
    "AdminShutdown": (OperationalError, "Check DATABASE_URL, and that the database server is running."),
    "InvalidPassword": (OperationalError, "Check DATABASE_URL, and that the database server is running."),
    "DiskFull": (OperationalError, "Make room, then run this again."),
}


@pytest.mark.one_database
@pytest.mark.parametrize("name", ADVICE)
def test_the_advice_fits_the_fault(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanations, "connection", SimpleNamespace(vendor="postgresql"))
    kind, advice = ADVICE[name]
    error = of_postgresql(kind("a reason"), name)
    assert isinstance(error, Error)
    assert explain_fault(error).endswith(advice)


@pytest.mark.one_database
@pytest.mark.sampled(6)
@pytest.mark.parametrize("command", ["migrate", "ensure_admin", "backup", "rotate_secrets", "version", "prepare"])
def test_a_server_that_refuses_is_one_sentence_with_its_reason(command: str, tmp_path: Path) -> None:
    """The pool tries it again and again, and says so each time."""
    url = f"postgresql://user:poor-password@127.0.0.1:{reserve_port()}/berth"
    environment = {"PATH": os.environ["PATH"], "BERTH_DATA_DIR": str(tmp_path / "var"), "DATABASE_URL": url}
    done = subprocess.run(
        [sys.executable, "manage.py", command],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert "poor-password" not in done.stdout + done.stderr
    if command == "version":
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "The database does not answer. (connection failed: " in done.stderr
    assert "Connection refused" in done.stderr
    assert done.stderr.endswith("Check DATABASE_URL, and that the database server is running.\n")


@pytest.fixture(params=["empty", "prepared"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Of a user without rights, in an empty database, or in that of the tests, which is prepared."""
    server, name = os.environ["DATABASE_URL"], f"berth_poor_{secrets.token_hex(4)}"
    address = psycopg.conninfo.conninfo_to_dict(server)
    with psycopg.connect(server, autocommit=True) as database:
        database.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'poor-password'").format(sql.Identifier(name)))
        made = request.param == "empty"
        if made:
            database.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        where = name if made else str(connection.settings_dict["NAME"])
        yield f"postgresql://{name}:poor-password@{address['host']}:{address['port']}/{where}"
        if made:
            database.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        database.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


COMMANDS = ("migrate", "prepare", "prepare --while-serving", "backup", "ensure_admin", "rotate_secrets", "reconcile")
NEEDS_TABLES = {"backup", "ensure_admin", "rotate_secrets", "reconcile"}


@pytest.mark.postgres_only
@pytest.mark.django_db
@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_user_without_rights_is_told_what_is_missing(command: str, url: str, tmp_path: Path) -> None:
    """Since version 15, a server lets nobody but its owner create tables in a database."""
    environment = {"PATH": os.environ["PATH"], "BERTH_DATA_DIR": str(tmp_path / "var"), "DATABASE_URL": url}
    environment["DOCKER_HOST"] = f"unix://{tmp_path}/no.sock"
    done = subprocess.run(
        [sys.executable, "manage.py", *command.split()],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "poor-password" not in done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    if "berth_poor" in url.rpartition("/")[2] and command in NEEDS_TABLES:
        assert "DATABASE_URL" in done.stderr or "manage.py prepare" in done.stderr
    else:
        assert done.stderr.endswith(f"{OWNER}\n")
