"""The watcher makes the gateway agree with the rows, after missed messages, losses and a restore."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Project
from projects.services.gateway.provisioning import describe_trouble, is_in_trouble, make_spec
from projects.templatetags.staff_notes import staff_notes
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_OTHER_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.entries import counts_for, entry_of, knows, tell_what_it_missed

pytestmark = pytest.mark.django_db
Control = Callable[..., Any]


def test_known_entries_are_not_sent_again(engine: MemoryEngine, project: Project) -> None:
    look_after_gateway()
    before = list(engine.gateway_program.applied)
    look_after_gateway()
    assert engine.gateway_program.applied == before


@pytest.mark.parametrize("verb", ["stop", "restart"])
def test_a_missed_verb_is_sent_later(engine: MemoryEngine, project: Project, control: Control, verb: str) -> None:
    engine.fail("gateway", EngineUnavailableError)
    control(project, verb)
    assert not knows(engine, project)
    look_after_gateway()
    assert knows(engine, project)
    assert (entry_of(engine, project) is None) == (verb == "stop")


def test_a_missed_deletion_is_sent_later(engine: MemoryEngine, project: Project, api: Any) -> None:
    engine.fail("gateway", EngineUnavailableError)
    assert api.delete(f"/api/projects/{project.pk}").status_code == 204
    assert entry_of(engine, project) is not None
    look_after_gateway()
    assert entry_of(engine, project) is None
    assert tell_what_it_missed(engine) == 0


def test_a_gateway_that_has_lost_everything(engine: MemoryEngine, deploy: Callable[..., Project]) -> None:
    projects = [deploy(), deploy(telegramToken="555:another-bot")]
    engine.gateway_program = MemoryGateway()
    look_after_gateway()
    assert all(counts_for(engine, project) == (True, True) for project in projects)


def test_after_the_restore_of_an_older_backup_the_rows_count(engine: MemoryEngine, project: Project, api: Any) -> None:
    """The rows count, and the next change has a higher version than the gateway."""
    api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY})
    older = {"entry_version": 1, "api_key_ciphertext": project.api_key_ciphertext}
    Project.objects.filter(pk=project.pk).update(**older)
    look_after_gateway()
    assert knows(engine, project)
    assert entry_of(engine, project)["provider"]["key"] != CANARY_OTHER_API_KEY
    api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY})
    assert entry_of(engine, project)["provider"]["key"] == CANARY_OTHER_API_KEY


def test_a_command_during_an_outage_says_that_it_was_not_delivered(
    engine: MemoryEngine, project: Project, control: Control
) -> None:
    Project.objects.filter(pk=project.pk).update(entry_version=0)
    engine.gateway_program.versions[str(project.pk)] = 50
    control(project, "stop")
    assert entry_of(engine, project) is not None
    look_after_gateway()
    assert entry_of(engine, project) is None
    assert Project.objects.get().entry_version == 51


def test_the_agent_of_a_deactivated_owner_is_void(engine: MemoryEngine, project: Project, alice: User) -> None:
    alice.is_active = False
    alice.save(update_fields=["is_active"])
    reconcile()
    look_after_gateway()
    assert entry_of(engine, project) is None


def test_other_addresses_of_the_service(engine: MemoryEngine, project: Project, settings: Any) -> None:
    look_after_gateway()
    settings.BERTH_TELEGRAM_API = "http://10.0.0.9:8081"
    look_after_gateway()
    assert entry_of(engine, project)["telegram"]["base"] == "http://10.0.0.9:8081"
    assert knows(engine, project)


def test_a_firewall_that_cannot_be_set_any_more(engine: MemoryEngine, project: Project) -> None:
    look_after_gateway()
    engine.knows_sources = False
    look_after_gateway()
    assert entry_of(engine, project)["address"] is None


def test_an_entry_that_the_gateway_refuses_holds_up_no_other(
    engine: MemoryEngine, deploy: Callable[..., Project]
) -> None:
    good, bad = deploy(), deploy(telegramToken="555:another-bot")
    engine.gateway_program = MemoryGateway()
    answer = engine.gateway_program.answer

    def refuse(line: bytes) -> bytes:
        if str(bad.pk).encode() in line and b'"do":"apply"' in line:
            raise EngineRefusedError("telegram.token is missing or malformed.")
        return answer(line)

    engine.gateway_program.answer = refuse  # type: ignore[method-assign]  # of this one
    look_after_gateway()
    assert knows(engine, good)
    assert not knows(engine, bad)
    assert str(bad.pk) in describe_trouble()
    assert not is_in_trouble(), "The gateway works."


def test_an_entry_with_unreadable_credentials_blocks_no_other(
    engine: MemoryEngine, deploy: Callable[..., Project]
) -> None:
    good, bad = deploy(), deploy(telegramToken="555:another-bot")
    Project.objects.filter(pk=bad.pk).update(api_key_ciphertext="gAAAA-of-nobody")
    engine.gateway_program = MemoryGateway()
    look_after_gateway()
    assert knows(engine, good)
    assert str(bad.pk) not in engine.gateway_program.entries


def test_projects_held_by_an_operation_are_left_to_it(engine: MemoryEngine, project: Project, control: Control) -> None:
    looks: list[int] = []
    engine.slow("stop", lambda: looks.append(tell_what_it_missed(engine)))
    control(project, "stop")
    assert looks == [0]


def test_an_unknown_project_at_the_gateway_is_voided(engine: MemoryEngine, project: Project) -> None:
    program, stranger = engine.gateway_program, str(uuid4())
    program.versions[stranger], program.entries[stranger] = 7, program.entries[str(project.pk)]
    look_after_gateway()
    assert program.entries[stranger] is None


def test_a_gateway_stopped_by_hand_is_started_again(engine: MemoryEngine, project: Project) -> None:
    engine.stop_gateway()
    look_after_gateway()
    assert engine.gateway_container is not None
    assert engine.gateway_container.is_up


def test_a_silent_engine_is_shown_to_staff(engine: MemoryEngine, project: Project) -> None:
    engine.unavailable = True
    look_after_gateway()
    assert "does not answer" in describe_trouble()
    engine.unavailable = False
    look_after_gateway()
    assert describe_trouble() == ""


def test_staff_see_that_the_credential_alone_counts(engine: MemoryEngine, project: Project) -> None:
    engine.knows_sources = False
    look_after_gateway()
    assert staff_notes()[0] == describe_trouble() != ""


def test_the_gateway_s_key_is_derived_from_the_service_s_keys(settings: Any) -> None:
    before = make_spec().key
    assert before not in settings.BERTH_ENCRYPTION_KEYS
    settings.BERTH_ENCRYPTION_KEYS = ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", *settings.BERTH_ENCRYPTION_KEYS]
    first, second = make_spec().key.split("\n")
    assert (second, first != second) == (before, True)
    assert "bvk" not in repr(make_spec())
    assert first not in repr(make_spec())
