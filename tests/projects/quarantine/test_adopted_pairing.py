"""Pairing with an agent that was in quarantine and is a project again."""

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import AgentType, Project, Quarantined
from tests.fakes.engine import MemoryEngine
from tests.projects.api.pairing import read_link, secret_of
from tests.projects.quarantine.deciding import run


@pytest.fixture
def adopted(entry: Quarantined) -> Project:
    run("quarantine", "adopt", entry.key)
    return Project.objects.get()


def test_an_adopted_agent_answers_only_paired_users(adopted: Project, api: APIClient, engine: MemoryEngine) -> None:
    assert (adopted.pairs, adopted.needs_start_to_pair, adopted.awaits_owner) == (True, False, True)
    sent = {"telegramToken": "77:bot", "apiKey": "sk-fresh"}
    assert api.patch(f"/api/projects/{adopted.pk}", sent).status_code == 200
    Project.objects.update(bot_id=77, bot_username="harbour_bot")
    assert api.post(f"/api/projects/{adopted.pk}/control", {"action": "start"}).status_code == 200
    url = api.get(f"/api/projects/{adopted.pk}").json()["bot"]["url"]
    code = read_link(url, secret_of(engine, adopted))
    assert code is not None
    assert abs(code.number - timezone.now().timestamp()) < 60  # its memory has not seen this one


def test_an_adopted_agent_without_pairing_has_no_secret(entry: Quarantined) -> None:
    AgentType.objects.update(pairs_people=False)
    run("quarantine", "adopt", entry.key)
    project = Project.objects.get()
    assert (project.pairs, project.pairing_number) == (False, 0)
