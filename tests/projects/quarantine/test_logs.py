"""The last output of an agent in quarantine."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError
from django.test import Client
from django.utils import timezone

from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.vocabulary import QUARANTINE_LABEL
from projects.models import Project, Quarantined
from projects.services.inventory.quarantine import TRIED_FOR
from projects.services.reports.logs import KEPT_BYTES, KEPT_LINES
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.quarantine.deciding import CHANGES, run
from tests.projects.watcher.other_databases import grow_old, lose_row

SECRET = "sk-" + "of-the-quarantined-0123456789"


def printed(project: Project, engine: MemoryEngine, *lines: str) -> Quarantined:
    """The agent prints these lines, and then its row is lost."""
    for line in lines:
        engine.log(project.container_name, line)
    lose_row()
    grow_old(engine)
    reconcile()
    return Quarantined.objects.get()


def test_its_log_stays_readable_for_staff(project: Project, engine: MemoryEngine, admin: Client) -> None:
    entry = printed(project, engine, "Good morning.", "It <b>broke</b>.")
    assert [line.partition(" ")[2] for line in entry.log.splitlines()] == ["Good morning.", "It <b>broke</b>."]
    assert run("quarantine", "log", entry.key).strip() == entry.log
    page = admin.get(f"{CHANGES}{entry.key}/change/").content.decode()
    assert "Good morning." in page
    assert "It &lt;b&gt;broke&lt;/b&gt;." in page
    assert "Good morning." not in admin.get(CHANGES).content.decode()
    for _ in range(2):
        grow_old(engine)
        reconcile()
    assert Quarantined.objects.get().log == entry.log


DISGUISES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "base64": lambda secret: b64encode(secret.encode()).decode(),
    "hex": lambda secret: secret.encode().hex(),
    "backwards": lambda secret: secret[::-1],
    "split by escapes": "\x1b[1m".join,
    "split by what nobody sees": "\u200b".join,
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_log_is_redacted_with_credentials_that_only_the_engine_has(
    disguise: str, deploy: Callable[..., Project], engine: MemoryEngine, settings: Any
) -> None:
    settings.BERTH_GATEWAY = False  # an agent from before it
    shown = DISGUISES[disguise](SECRET)
    entry = printed(deploy(apiKey=SECRET), engine, "before", f"key={shown}!", "after\x1b[31m\r\u202e")
    assert shown not in entry.log
    assert SECRET not in entry.log
    assert [line.split()[1] for line in entry.log.splitlines()][::2] == ["before", "after"]
    assert not {"\x1b", "\r", "\u202e", "\u200b"} & set(entry.log)


def test_only_the_end_of_a_log_is_kept(project: Project, engine: MemoryEngine) -> None:
    entry = printed(project, engine, *(f"line {number} {'x' * 400}" for number in range(1200)))
    assert KEPT_BYTES - 1000 < len(entry.log.encode()) <= KEPT_BYTES
    assert "line 1199 " in entry.log
    Quarantined.objects.all().delete()


def test_the_number_of_kept_short_lines_is_limited(project: Project, engine: MemoryEngine) -> None:
    entry = printed(project, engine, *(f"line {number}" for number in range(1200)))
    assert len(entry.log.splitlines()) == KEPT_LINES


def test_an_agent_without_output_has_no_log(entry: Quarantined, admin: Client) -> None:
    assert "No log was kept" in run("quarantine", "log", entry.key)
    assert "No log was kept" in admin.get(f"{CHANGES}{entry.key}/change/").content.decode()
    with pytest.raises(CommandError, match="There is no agent in quarantine"):
        run("quarantine", "log", str(uuid4()))


def test_a_log_becomes_the_first_run_of_the_adopting_project(project: Project, engine: MemoryEngine, api: Any) -> None:
    entry = printed(project, engine, "Good morning.")
    run("quarantine", "adopt", entry.key)
    [kept] = api.get(f"/api/projects/{entry.key}/runs").json()
    assert kept["number"] == 1
    assert "Good morning." in api.get(f"/api/projects/{entry.key}/logs?run=1").content.decode()


def test_a_log_is_deleted_with_its_agent(project: Project, engine: MemoryEngine) -> None:
    entry = printed(project, engine, "Good morning.")
    run("quarantine", "delete", entry.key, "--yes")
    assert not Quarantined.objects.exists()


@pytest.mark.parametrize("verb", ["logs", "read_secrets"])
def test_while_the_log_cannot_be_read_the_stopped_container_stays(
    verb: str, project: Project, engine: MemoryEngine
) -> None:
    engine.log(project.container_name, "Good morning.")
    lose_row()
    grow_old(engine)
    engine.fail(verb, EngineUnavailableError)
    result = reconcile()
    assert (len(result.failed), result.repaired) == (1, [])
    [container] = engine.containers.values()
    assert (container.is_up, QUARANTINE_LABEL in container.labels) == (False, False)
    assert reconcile().repaired == [f"quarantine: {project.pk}"]
    assert "Good morning." in Quarantined.objects.get().log
    assert QUARANTINE_LABEL in next(iter(engine.containers.values())).labels


@pytest.mark.parametrize("verb", ["logs", "read_secrets"])
def test_a_log_that_cannot_be_read_for_long_keeps_no_credentials_on_the_engine(
    verb: str, project: Project, engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    lose_row()
    grow_old(engine)
    engine.fail(verb, EngineUnavailableError)
    reconcile()
    Quarantined.objects.update(since=timezone.now() - TRIED_FOR)
    engine.fail(verb, EngineUnavailableError)
    assert reconcile().repaired == [f"quarantine: {project.pk}"]
    assert engine.volumes == {f"{project.container_name}-data"}
    assert "could not be kept" in caplog.text


def test_a_log_that_the_engine_refuses_is_not_waited_for(project: Project, engine: MemoryEngine) -> None:
    lose_row()
    grow_old(engine)
    engine.fail("read_secrets", EngineRefusedError)
    assert reconcile().repaired == [f"quarantine: {project.pk}"]
    assert Quarantined.objects.get().log == ""
