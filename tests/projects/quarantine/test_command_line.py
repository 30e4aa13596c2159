"""An operator's decisions about an agent in quarantine, on the command line."""

from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError
from django.utils import timezone

from accounts.models import User
from containers.identity import own_labels
from containers.vocabulary import QUARANTINE_LABEL
from projects.models import Event, Project, Quarantined
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.quarantine.deciding import run
from tests.projects.watcher.other_databases import grow_old, photograph


def test_quarantined_agents_are_listed(entry: Quarantined) -> None:
    listed = run("quarantine")
    assert entry.key in listed
    assert "alice@example.com" in listed
    assert run("quarantine", "list") == listed
    Quarantined.objects.all().delete()
    assert "Nothing is in quarantine" in run("quarantine")


def test_an_agent_is_adopted_as_a_stopped_project_with_its_memory(
    entry: Quarantined, engine: MemoryEngine, api: Any, alice: User
) -> None:
    volumes = set(engine.volumes)
    assert "alice@example.com" in run("quarantine", "adopt", entry.key)
    project = Project.objects.get()
    assert (str(project.pk), project.owner, project.status) == (entry.key, alice, "stopped")
    assert not Quarantined.objects.exists()
    assert (engine.containers, engine.volumes) == ({}, volumes)
    assert reconcile().repaired == []
    sent = {"telegramToken": "77:bot", "apiKey": "sk-fresh"}
    assert api.patch(f"/api/projects/{project.pk}", sent).status_code == 200
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "start"}).status_code == 200
    project.refresh_from_db()
    assert project.generation > entry.generation
    [container] = engine.containers.values()
    assert QUARANTINE_LABEL not in container.labels
    assert volumes <= engine.volumes
    assert len([volume for volume in engine.volumes if volume.endswith("-data")]) == 1


def test_an_agent_can_be_given_to_another_owner(entry: Quarantined, bob: User) -> None:
    run("quarantine", "adopt", entry.key, "--owner", "BOB@example.com", "--plan", "pro", "--type", "assistant")
    project = Project.objects.get()
    assert (project.owner, project.plan.pk, project.agent_type.pk) == (bob, "pro", "assistant")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["adopt", str(uuid4())], "There is no agent in quarantine"),
        (["adopt", "{key}", "--owner", "nobody@example.com"], "There is no user"),
        (["adopt", "{key}", "--plan", "none"], "There is no plan"),
        (["adopt", "{key}", "--type", "none"], "There is no agent type"),
        (["delete"], "Name the projects"),
        (["delete", "--expired"], "Name the projects"),
        (["delete", "nothing"], "There is no agent in quarantine"),
    ],
)
def test_an_error_is_explained_and_changes_nothing(
    words: list[str], sentence: str, entry: Quarantined, engine: MemoryEngine
) -> None:
    before = photograph(engine)
    with pytest.raises(CommandError, match=sentence):
        run("quarantine", *[word.format(key=entry.key) for word in words])
    assert (photograph(engine), Quarantined.objects.count(), Project.objects.count()) == (before, 1, 0)


def test_an_unknown_owner_must_be_given(entry: Quarantined) -> None:
    Quarantined.objects.update(owner_key=str(uuid4()))
    with pytest.raises(CommandError, match="--owner EMAIL"):
        run("quarantine", "adopt", entry.key)


def test_an_agent_is_deleted_after_the_number_is_typed(
    entry: Quarantined, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = photograph(engine)
    for typed in ("yes\n", ""):  # empty without a terminal
        monkeypatch.setattr("sys.stdin", StringIO(typed))
        with pytest.raises(CommandError, match="Nothing was done"):
            run("quarantine", "delete", entry.key)
    assert photograph(engine) == before
    monkeypatch.setattr("sys.stdin", StringIO("1\n"))
    assert f"Deleted {entry.key}" in run("quarantine", "delete", entry.key)
    assert photograph(engine) == ({}, set())
    assert not Quarantined.objects.exists()
    assert Event.objects.filter(action="delete from quarantine", actor="operator").count() == 1


def test_only_agents_kept_for_thirty_days_expire(entry: Quarantined, engine: MemoryEngine) -> None:
    Quarantined.objects.update(since=timezone.now() - timedelta(days=29, hours=23))
    with pytest.raises(CommandError, match="Name the projects"):
        run("quarantine", "delete", "--expired", "--yes")
    Quarantined.objects.update(since=timezone.now() - timedelta(days=30))
    run("quarantine", "delete", "--expired", "--yes")
    assert photograph(engine) == ({}, set())


def test_nothing_is_deleted_of_a_project_that_is_there_again(project: Project, engine: MemoryEngine) -> None:
    entry = Quarantined.objects.create(key=str(project.pk), instance="berth")
    before = photograph(engine)
    for verb in ("delete", "adopt"):
        with pytest.raises(CommandError, match="There is a project"):
            run("quarantine", verb, entry.key, *(["--yes"] if verb == "delete" else []))
    assert photograph(engine) == before
    reconcile()
    assert not Quarantined.objects.exists()


@pytest.mark.parametrize("key", ["old", "x" * 64, "{b0b}", "урна"])
def test_a_container_with_an_invalid_project_label_can_only_be_deleted(
    db: None, key: str, engine: MemoryEngine
) -> None:
    found = engine.foreign("berth-odd", labels={**own_labels(), "berth.project": key, "berth.owner": "y" * 300})
    engine.volumes.add("berth-odd-data")
    engine.volume_labels["berth-odd-data"] = found.labels
    grow_old(engine)
    assert reconcile().repaired == [f"quarantine: {key}"]
    with pytest.raises(CommandError, match=r"not the id of a project|does not exist here"):
        run("quarantine", "adopt", key)
    run("quarantine", "delete", key, "--yes")
    assert photograph(engine) == ({}, set())
