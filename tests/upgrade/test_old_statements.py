"""While this version migrates, what servers of a release ask of the database goes on: reads and writes of all kinds."""

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from tests.paths import ROOT
from tests.upgrade.releases import RELEASES
from tests.upgrade.upgrading import ALIAS, WITHIN, Upgrade

WAITING = "Waiting for a table that is in use"

pytestmark = [pytest.mark.timeout(900), pytest.mark.either_database]


@pytest.fixture
def upgrade(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[Upgrade]:
    """Of the first release, from which on it is the longest way. Not the database of the tests, but one of its own."""
    with django_db_blocker.unblock():
        made = Upgrade(RELEASES[-1], tmp_path)
        try:
            yield made
        finally:
            made.close()


def begin_requests(upgrade: Upgrade) -> None:
    def objects(app: str, name: str) -> Any:
        return upgrade.models.get_model(app, name).objects.using(ALIAS)

    user = objects("accounts", "User").create(email="alice@example.com", password="!")
    plan, kind = objects("projects", "Plan").first(), objects("projects", "AgentType").first()
    project = objects("projects", "Project").create(name="Stays", owner=user, plan=plan, agent_type=kind)

    def create_and_delete() -> None:
        with transaction.atomic(using=ALIAS):
            made = objects("projects", "Project").create(name="Comes", owner=user, plan=plan, agent_type=kind)
            objects("projects", "Event").create(
                project_id=made.pk, owner_id=user.pk, actor="alice", source="api", action="create", outcome="ok"
            )
        assert objects("projects", "Project").filter(pk=made.pk).update(name="Goes") == 1
        objects("projects", "Project").filter(pk=made.pk).delete()

    def sign_in() -> None:
        objects("accounts", "User").filter(pk=user.pk).update(session_version=F("session_version") + 1)
        objects("accounts", "LoginCounter").create(
            account=uuid.uuid4().hex, address="127.0.0.1", last_attempt_at=timezone.now()
        )

    def read() -> None:
        assert [each.name for each in objects("projects", "Project").filter(pk=project.pk).select_related("plan")]
        assert objects("accounts", "User").get(pk=user.pk).email == "alice@example.com"
        list(objects("projects", "Event").order_by("-at")[:20])

    for name, act in (("read", read), ("write", create_and_delete), ("sign in", sign_in)):
        upgrade.rounds[name] = 0
        upgrade.run_on(name, act)


@contextmanager
def begun(upgrade: Upgrade) -> Iterator[None]:
    """Somebody reads for long: a lock that is waited for stands before all who come after it, unless it gives way."""
    if not upgrade.url:
        upgrade.go()  # readers of SQLite keep nobody
        yield
        return
    with psycopg.connect(upgrade.url) as reader:
        reader.execute("SELECT count(*) FROM projects_project, projects_plan")
        upgrade.go()
        upgrade.wait_for(WAITING)
        yield
        upgrade.wait_for_rounds()
        assert "done" not in upgrade.said


@pytest.mark.rare(1)
def test_nothing_fails_while_this_version_migrates(upgrade: Upgrade) -> None:
    begin_requests(upgrade)
    upgrade.wait_for_rounds()
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    with ExitStack() as started:
        with begun(upgrade):
            another = started.enter_context(
                subprocess.Popen(command, cwd=ROOT, env=upgrade.environment, stderr=subprocess.PIPE, text=True)
            )
            started.callback(another.kill)
        _, said = another.communicate(timeout=WITHIN)
    assert (another.returncode, said) == (0, "")  # it has waited, and found nothing left to do
    upgrade.wait_for("done")
    upgrade.wait_for_rounds()
