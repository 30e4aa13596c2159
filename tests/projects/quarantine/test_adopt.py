"""`manage.py adopt`: the operator says that the engine's agents belong to this installation."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError

from containers.identity import installation_id
from projects.models import Event, Installation, Project, Quarantined
from projects.models.installation import read_installation, read_installation_id
from projects.services.inventory.installation import look_for_conflicts
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.installations import theirs
from tests.projects.quarantine.deciding import run
from tests.projects.watcher.other_databases import another_installations, lose_everything, of_later_deploys, photograph


def test_a_healthy_installation_has_nothing_to_adopt(project: Project, engine: MemoryEngine) -> None:
    before = photograph(engine)
    assert "nothing to adopt" in run("adopt", "--yes")
    assert photograph(engine) == before


def test_a_dry_run_and_another_word_change_nothing(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_later_deploys(engine)
    before = photograph(engine)
    assert "deploy 7" in run("adopt", "--dry-run")
    for typed in ("yes\n", ""):  # empty without a terminal
        monkeypatch.setattr("sys.stdin", StringIO(typed))
        with pytest.raises(CommandError, match="Nothing was done"):
            run("adopt")
    assert (photograph(engine), Project.objects.get().generation) == (before, 1)


def test_a_later_deploy_is_adopted_and_then_repaired(project: Project, engine: MemoryEngine, api: Any) -> None:
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


def test_an_unknown_container_of_any_age_goes_into_quarantine(project: Project, engine: MemoryEngine) -> None:
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


def test_a_database_from_before_ids_adopts_the_id_of_its_containers(
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


def test_an_installation_with_own_containers_adopts_no_other_id(
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


def test_a_silent_engine_is_reported(project: Project, engine: MemoryEngine) -> None:
    engine.unavailable = True
    with pytest.raises(CommandError, match="does not answer"):
        run("adopt", "--yes")


def test_each_database_has_a_unique_id(own_id: str) -> None:
    assert read_installation_id() == own_id
    assert len(own_id) == 32
    Installation.objects.all().delete()
    assert read_installation_id() != own_id


def test_reconcile_explains_why_nothing_is_repaired(project: Project, engine: MemoryEngine) -> None:
    of_later_deploys(engine)
    assert "manage.py adopt" in run("reconcile")
