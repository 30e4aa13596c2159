"""What the admin shows about agents in quarantine, and the decisions that it offers."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from projects.models import Event, Project, Quarantined
from projects.watcher.reconcile.full import reconcile
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.quarantine.deciding import CHANGES, act, run
from tests.projects.watcher.other_databases import label, of_later_deploys, photograph


def test_staff_see_a_quarantined_agent(admin: Client, entry: Quarantined) -> None:
    listed = admin.get(CHANGES).content.decode()
    assert entry.key in listed
    assert "alice@example.com" in listed
    assert entry.container_name in admin.get(f"{CHANGES}{entry.key}/change/").content.decode()


def test_staff_adopt_a_quarantined_agent(admin: Client, entry: Quarantined) -> None:
    assert "Done: 1 of 1." in act(admin, "adopt", entry)
    assert Project.objects.get().owner.email == "alice@example.com"
    assert Event.objects.filter(action="adopt", actor="sam@example.com").count() == 1


def test_staff_delete_a_quarantined_agent_after_typing_its_name(
    admin: Client, entry: Quarantined, engine: MemoryEngine
) -> None:
    before = photograph(engine)
    assert "Type" in act(admin, "delete_for_good", entry)
    act(admin, "delete_for_good", entry, confirm="yes")
    assert photograph(engine) == before
    assert "Done: 1 of 1." in act(admin, "delete_for_good", entry, confirm=str(entry))
    assert photograph(engine) == ({}, set())


def test_a_refused_action_is_explained(admin: Client, entry: Quarantined, engine: MemoryEngine) -> None:
    Quarantined.objects.update(owner_key="")
    assert "--owner EMAIL" in act(admin, "adopt", entry)
    engine.unavailable = True
    assert "does not answer" in act(admin, "delete_for_good", entry, confirm=str(entry))
    assert Quarantined.objects.exists()


@pytest.mark.parametrize("path", [CHANGES, "/admin/projects/project/", "/admin/"])
def test_staff_see_that_nothing_is_repaired(path: str, admin: Client, project: Project, engine: MemoryEngine) -> None:
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


@pytest.mark.parametrize(("days", "told"), [(29, False), (30, True), (400, True)])
def test_staff_see_agents_that_wait_for_long(days: int, told: bool, entry: Quarantined, admin: Client) -> None:
    Quarantined.objects.update(since=timezone.now() - timedelta(days=days))
    pages = [admin.get(path).content.decode() for path in (CHANGES, "/admin/")]
    assert [("been in quarantine for 30 days or longer" in page) for page in pages] == [told, told]
    assert ("icon-yes" in pages[0]) == told
    assert ("KEPT FOR 30 DAYS" in run("quarantine")) == told
    assert Quarantined.objects.exists()
