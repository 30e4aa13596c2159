"""What an operator decides: on the command line and in the admin."""

from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts.models import User
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.identity import installation_id, own_labels
from containers.vocabulary import QUARANTINE_LABEL
from projects.models import Event, Installation, Project, Quarantined
from projects.models.installation import read_installation, read_installation_id
from projects.services.installation import look_for_conflicts
from projects.services.logs import KEPT_BYTES, KEPT_LINES
from projects.services.quarantine import TRIED_FOR
from projects.watcher.reconcile import reconcile
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.installations import theirs
from tests.projects.watcher.other_databases import (
    another_installations,
    grow_old,
    label,
    lose_everything,
    lose_row,
    of_later_deploys,
    photograph,
)

CHANGES = "/admin/projects/quarantined/"


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, no_color=True)
    return out.getvalue()


@pytest.fixture
def entry(project: Project, engine: MemoryEngine) -> Quarantined:
    lose_row()
    grow_old(engine)
    reconcile()
    return Quarantined.objects.get()


# -- adopt ------------------------------------------------------------------------------------------------------------


def test_where_all_is_well_there_is_nothing_to_adopt(project: Project, engine: MemoryEngine) -> None:
    before = photograph(engine)
    assert "nothing to adopt" in run("adopt", "--yes")
    assert photograph(engine) == before


def test_a_dry_run_and_another_word_change_nothing(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_later_deploys(engine)
    before = photograph(engine)
    assert "deploy 7" in run("adopt", "--dry-run")
    monkeypatch.setattr("builtins.input", lambda question: "yes")
    with pytest.raises(CommandError, match="Nothing was changed"):
        run("adopt")
    assert (photograph(engine), Project.objects.get().generation) == (before, 1)


def test_a_later_deploy_is_taken_over_and_then_mended(project: Project, engine: MemoryEngine, api: Any) -> None:
    of_later_deploys(engine)
    reconcile()
    before = photograph(engine)
    assert f"deploy 7 of project {project.pk}" in run("adopt", "--yes")
    assert photograph(engine) == before
    assert (Project.objects.get().generation, Installation.objects.get().held_because) == (7, "")
    assert Event.objects.filter(action="adopt", actor="operator").count() == 1
    engine.exit(project.container_name)
    assert reconcile().repaired == [f"bring back: {project.container_name}"]
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "restart"}).status_code == 200


def test_what_was_never_heard_of_goes_into_quarantine_however_young(project: Project, engine: MemoryEngine) -> None:
    lose_everything()
    assert reconcile().repaired == []
    assert "into quarantine" in run("adopt", "--yes")
    [container] = engine.containers.values()
    assert not container.is_up
    assert engine.volumes == {f"{project.container_name}-data"}
    assert Quarantined.objects.get().key == str(project.pk)
    assert (reconcile().held, look_for_conflicts()) == ("", look_for_conflicts())


@pytest.fixture
def own_id(db: None, settings: Any) -> str:
    """The id is that of the database, as in production."""
    settings.BERTH_INSTALLATION_SOURCE = "projects.models.installation.read_installation_id"
    return read_installation_id()


def test_a_database_of_the_time_before_ids_takes_on_the_id_of_its_containers(
    own_id: str, project: Project, engine: MemoryEngine
) -> None:
    another_installations(engine)
    before = photograph(engine)
    assert "another installation" in reconcile().held
    assert theirs() in run("adopt", "--yes")
    assert (read_installation().identifier, installation_id()) == (theirs(), theirs())
    assert photograph(engine) == before
    result = reconcile()
    assert (result.held, result.repaired, result.failed) == ("", [], [])


def test_an_installation_with_containers_of_its_own_takes_on_no_other_id(
    own_id: str, project: Project, engine: MemoryEngine, deploy: Callable[..., Project]
) -> None:
    another_installations(engine)
    other = deploy(telegramToken="999:another")
    with pytest.raises(CommandError, match="under an id of its own"):
        run("adopt", "--yes")
    assert read_installation().identifier == own_id
    assert engine.containers[other.container_name].is_up


def test_several_ids_are_refused(own_id: str, project: Project, engine: MemoryEngine, deploy: Any) -> None:
    deploy(telegramToken="999:another")
    for number, container in enumerate(engine.containers.values()):
        container.labels["berth.installation"] = f"{number}" * 32
    with pytest.raises(CommandError, match="carry 2 ids"):
        run("adopt", "--yes")


def test_a_silent_engine_is_told(project: Project, engine: MemoryEngine) -> None:
    engine.unavailable = True
    with pytest.raises(CommandError, match="does not answer"):
        run("adopt", "--yes")


def test_each_database_has_an_id_of_its_own(own_id: str) -> None:
    assert read_installation_id() == own_id
    assert len(own_id) == 32
    Installation.objects.all().delete()
    assert read_installation_id() != own_id


def test_reconcile_says_why_nothing_is_mended(project: Project, engine: MemoryEngine) -> None:
    of_later_deploys(engine)
    assert "manage.py adopt" in run("reconcile")


# -- the quarantine on the command line -------------------------------------------------------------------------------


def test_it_is_listed(entry: Quarantined) -> None:
    listed = run("quarantine")
    assert entry.key in listed
    assert "alice@example.com" in listed
    assert run("quarantine", "list") == listed
    Quarantined.objects.all().delete()
    assert "Nothing is in quarantine" in run("quarantine")


def test_it_is_adopted_as_a_stopped_project_with_its_memory(
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


def test_it_can_be_given_to_somebody_else(entry: Quarantined, bob: User) -> None:
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
def test_what_is_wrong_is_said_and_changes_nothing(
    words: list[str], sentence: str, entry: Quarantined, engine: MemoryEngine
) -> None:
    before = photograph(engine)
    with pytest.raises(CommandError, match=sentence):
        run("quarantine", *[word.format(key=entry.key) for word in words])
    assert (photograph(engine), Quarantined.objects.count(), Project.objects.count()) == (before, 1, 0)


def test_an_owner_who_is_not_here_is_asked_for(entry: Quarantined) -> None:
    Quarantined.objects.update(owner_key=str(uuid4()))
    with pytest.raises(CommandError, match="--owner EMAIL"):
        run("quarantine", "adopt", entry.key)


def test_it_is_deleted_by_hand_once_the_number_is_typed(
    entry: Quarantined, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = photograph(engine)
    monkeypatch.setattr("builtins.input", lambda question: "yes")
    with pytest.raises(CommandError, match="Nothing was deleted"):
        run("quarantine", "delete", entry.key)
    assert photograph(engine) == before
    monkeypatch.setattr("builtins.input", lambda question: "1")
    assert f"Deleted {entry.key}" in run("quarantine", "delete", entry.key)
    assert photograph(engine) == ({}, set())
    assert not Quarantined.objects.exists()
    assert Event.objects.filter(action="delete from quarantine", actor="operator").count() == 1


def test_only_what_was_kept_for_thirty_days_is_expired(entry: Quarantined, engine: MemoryEngine) -> None:
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
def test_a_label_that_is_no_project_is_kept_and_can_only_be_deleted(db: None, key: str, engine: MemoryEngine) -> None:
    found = engine.foreign("berth-odd", labels={**own_labels(), "berth.project": key, "berth.owner": "y" * 300})
    engine.volumes.add("berth-odd-data")
    engine.volume_labels["berth-odd-data"] = found.labels
    grow_old(engine)
    assert reconcile().repaired == [f"quarantine: {key}"]
    with pytest.raises(CommandError, match=r"not the id of a project|does not exist here"):
        run("quarantine", "adopt", key)
    run("quarantine", "delete", key, "--yes")
    assert photograph(engine) == ({}, set())


# -- the admin --------------------------------------------------------------------------------------------------------


@pytest.fixture
def admin(sam: User) -> Client:
    return browser_of(sam)


def act(admin: Client, action: str, entry: Quarantined, **fields: str) -> str:
    data = {"action": action, "_selected_action": [entry.pk], **fields}
    return admin.post(CHANGES, data, follow=True).content.decode()


def test_staff_see_it(admin: Client, entry: Quarantined) -> None:
    listed = admin.get(CHANGES).content.decode()
    assert entry.key in listed
    assert "alice@example.com" in listed
    assert entry.container_name in admin.get(f"{CHANGES}{entry.key}/change/").content.decode()


def test_staff_adopt_it(admin: Client, entry: Quarantined) -> None:
    assert "Done: 1 of 1." in act(admin, "adopt", entry)
    assert Project.objects.get().owner.email == "alice@example.com"
    assert Event.objects.filter(action="adopt", actor="sam@example.com").count() == 1


def test_staff_delete_it_once_its_name_is_typed(admin: Client, entry: Quarantined, engine: MemoryEngine) -> None:
    before = photograph(engine)
    assert "Type" in act(admin, "delete_for_good", entry)
    act(admin, "delete_for_good", entry, confirm="yes")
    assert photograph(engine) == before
    assert "Done: 1 of 1." in act(admin, "delete_for_good", entry, confirm=str(entry))
    assert photograph(engine) == ({}, set())


def test_what_is_refused_is_said(admin: Client, entry: Quarantined, engine: MemoryEngine) -> None:
    Quarantined.objects.update(owner_key="")
    assert "--owner EMAIL" in act(admin, "adopt", entry)
    engine.unavailable = True
    assert "does not answer" in act(admin, "delete_for_good", entry, confirm=str(entry))
    assert Quarantined.objects.exists()


@pytest.mark.parametrize("path", [CHANGES, "/admin/projects/project/", "/admin/"])
def test_staff_are_told_that_nothing_is_mended(
    path: str, admin: Client, project: Project, engine: MemoryEngine
) -> None:
    assert "manage.py adopt" not in admin.get(path).content.decode()
    of_later_deploys(engine)
    reconcile()
    assert "manage.py adopt" in admin.get(path).content.decode()
    label(engine, generation="1")
    reconcile()
    assert "manage.py adopt" not in admin.get(path).content.decode()


def test_the_quarantine_is_for_staff_only(entry: Quarantined, alice: User) -> None:
    for path in (CHANGES, f"{CHANGES}{entry.key}/change/"):
        assert browser_of(alice).get(path).status_code in {302, 403}
    act(browser_of(alice), "delete_for_good", entry, confirm=str(entry))
    assert Quarantined.objects.exists()


# -- what it printed last ---------------------------------------------------------------------------------------------

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
def test_it_is_redacted_by_credentials_that_only_the_engine_has(
    disguise: str, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    shown = DISGUISES[disguise](SECRET)
    entry = printed(deploy(apiKey=SECRET), engine, "before", f"key={shown}!", "after\x1b[31m\r\u202e")
    assert shown not in entry.log
    assert SECRET not in entry.log
    assert [line.split()[1] for line in entry.log.splitlines()][::2] == ["before", "after"]
    assert not {"\x1b", "\r", "\u202e", "\u200b"} & set(entry.log)


def test_only_its_end_is_kept(project: Project, engine: MemoryEngine) -> None:
    entry = printed(project, engine, *(f"line {number} {'x' * 400}" for number in range(1200)))
    assert KEPT_BYTES - 1000 < len(entry.log.encode()) <= KEPT_BYTES
    assert "line 1199 " in entry.log
    Quarantined.objects.all().delete()


def test_of_short_lines_so_many_are_kept(project: Project, engine: MemoryEngine) -> None:
    entry = printed(project, engine, *(f"line {number}" for number in range(1200)))
    assert len(entry.log.splitlines()) == KEPT_LINES


def test_one_that_printed_nothing_has_no_log(entry: Quarantined, admin: Client) -> None:
    assert "No log was kept" in run("quarantine", "log", entry.key)
    assert "No log was kept" in admin.get(f"{CHANGES}{entry.key}/change/").content.decode()
    with pytest.raises(CommandError, match="There is no agent in quarantine"):
        run("quarantine", "log", str(uuid4()))


def test_it_becomes_the_first_run_of_the_project_that_adopts_it(
    project: Project, engine: MemoryEngine, api: Any
) -> None:
    entry = printed(project, engine, "Good morning.")
    run("quarantine", "adopt", entry.key)
    [kept] = api.get(f"/api/projects/{entry.key}/runs").json()
    assert kept["number"] == 1
    assert "Good morning." in api.get(f"/api/projects/{entry.key}/logs?run=1").content.decode()


def test_it_is_deleted_with_the_agent(project: Project, engine: MemoryEngine) -> None:
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


# -- after 30 days ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("days", "told"), [(29, False), (30, True), (400, True)])
def test_staff_see_what_waits_for_long(days: int, told: bool, entry: Quarantined, admin: Client) -> None:
    Quarantined.objects.update(since=timezone.now() - timedelta(days=days))
    pages = [admin.get(path).content.decode() for path in (CHANGES, "/admin/")]
    assert [("been in quarantine for 30 days or longer" in page) for page in pages] == [told, told]
    assert ("icon-yes" in pages[0]) == told
    assert ("KEPT FOR 30 DAYS" in run("quarantine")) == told
    assert Quarantined.objects.exists()
