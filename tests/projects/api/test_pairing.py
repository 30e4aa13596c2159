"""Pairing over the API: the owner's link in every answer, and links made on demand."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import clock
from containers.agent_contract import PairingKind, read_pairing_code
from projects.models import Event, Project
from projects.services.credentials.key_rotation import rotate_secrets
from tests.fakes.engine import MemoryEngine
from tests.projects.api.pairing import PLAIN, bot_of, make, read_link, report, secret_of

Deploy = Callable[..., Project]


def test_the_url_is_the_owner_s_link_until_the_agent_reports_pairing(
    api: APIClient, named: Project, engine: MemoryEngine
) -> None:
    bot = bot_of(api, named)
    code = read_link(bot["url"], secret_of(engine, named))
    assert code is not None
    assert (code.kind, bot["paired"]) == (PairingKind.OWNER, None)
    assert timedelta(days=1) <= timedelta(seconds=code.expires - timezone.now().timestamp()) <= timedelta(days=2)
    assert api.patch(f"/api/projects/{named.pk}", {"name": "Other"}).json()["bot"]["url"] == bot["url"]
    for paired, url in ((0, bot["url"]), (2, PLAIN), (0, bot["url"])):
        report(engine, named, paired)
        assert bot_of(api, named) == bot | {"url": url, "paired": paired}


def test_the_link_changes_each_day_and_not_within_one(
    api: APIClient, named: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    urls = []
    for later in (timedelta(seconds=1), timedelta(hours=23, minutes=59), timedelta(days=1, seconds=1)):
        monkeypatch.setattr("projects.models.columns.pairing.clock.now", lambda later=later: midnight + later)
        named.refresh_from_db()
        assert named.bot is not None
        urls.append(named.bot["url"])
    assert urls[0] == urls[1] != urls[2]


@pytest.mark.parametrize("allowed", [["*"], [7], ["@alice_a"]])
def test_an_agent_with_allowed_users_has_no_owner_s_link(
    api: APIClient, deploy: Deploy, allowed: list[Any], engine: MemoryEngine
) -> None:
    project = deploy(settings={"allowed_users": allowed})
    Project.objects.update(bot_username="harbour_bot")
    assert bot_of(api, project)["url"] == PLAIN
    assert secret_of(engine, project)  # further people may still pair
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    assert spec.environment["AGENT_ALLOWED_USERS"] == str(allowed[0])


def test_a_project_from_before_pairing_stays_open_until_its_owner_creates_a_link(
    api: APIClient, named: Project, engine: MemoryEngine
) -> None:
    Project.objects.update(pairing_secret_ciphertext="", pairing_from=0, agent_paired=None)
    api.post(f"/api/projects/{named.pk}/control", {"action": "restart"})
    assert secret_of(engine, named) == ""
    assert bot_of(api, named)["url"] == PLAIN
    made = make(api, named).json()
    assert made["needs_start"] is True
    assert api.post(f"/api/projects/{named.pk}/control", {"action": "restart"}).status_code == 200
    assert read_link(made["url"], secret_of(engine, named)) is not None
    assert make(api, named).json()["needs_start"] is False


def test_requested_links_are_valid_for_a_day_and_numbered(api: APIClient, named: Project, engine: MemoryEngine) -> None:
    secret, before = secret_of(engine, named), clock.now()
    answers = [make(api, named, **body) for body in ({}, {"mode": "add"}, {"mode": "replace"})]
    assert [answer.status_code for answer in answers] == [201] * 3
    codes = [read_link(answer.json()["url"], secret) for answer in answers]
    assert [code and (code.kind, code.number) for code in codes] == [
        (PairingKind.ADD, 1),
        (PairingKind.ADD, 2),
        (PairingKind.REPLACE, 3),
    ]
    last = answers[-1].json()
    assert last["url"].endswith(last["code"])
    assert codes[-1] is not None
    assert abs(codes[-1].expires - (before + timedelta(days=1)).timestamp()) < 100
    owners = read_link(bot_of(api, named)["url"], secret)
    assert owners is not None
    assert (owners.kind, owners.number) == (PairingKind.OWNER, 3)
    events = Event.objects.filter(action="pairing").order_by("pk").values_list("outcome", "detail")
    assert list(events) == [("done", "add"), ("done", "add"), ("done", "replace")]
    assert last["code"] not in str(list(Event.objects.values()))


def test_clearing_the_memory_voids_all_codes(api: APIClient, named: Project, engine: MemoryEngine) -> None:
    """After clearing, the agent no longer knows which links were used. An old link must not pair then."""
    before, kept = secret_of(engine, named), bot_of(api, named)["url"]
    report(engine, named, 1)
    assert api.delete(f"/api/projects/{named.pk}/memory").status_code == 200
    after = secret_of(engine, named)
    assert read_link(kept, before) is not None
    assert read_link(kept, after) is None
    bot = bot_of(api, named)
    assert read_link(bot["url"], after) is not None
    assert bot["paired"] is None


def test_a_restart_keeps_the_secret_and_a_rotation_its_content(
    api: APIClient, named: Project, engine: MemoryEngine
) -> None:
    before = secret_of(engine, named)
    assert len(before) >= 32
    assert list(rotate_secrets())
    api.post(f"/api/projects/{named.pk}/control", {"action": "restart"})
    assert secret_of(engine, named) == before
    stored = Project.objects.get()
    assert before not in str(stored.__dict__)


def test_a_secret_that_cannot_be_read_hides_the_link_and_nothing_else(api: APIClient, named: Project) -> None:
    Project.objects.update(pairing_secret_ciphertext="not encrypted by us")
    assert bot_of(api, named)["url"] == PLAIN
    assert make(api, named).status_code >= 400
    assert Project.objects.get().pairing_number == 0


def test_a_bot_without_a_known_name_shows_a_code_to_type(
    api: APIClient, project: Project, engine: MemoryEngine
) -> None:
    Project.objects.update(bot_username="")
    assert bot_of(api, project)["url"] == ""
    made = make(api, project).json()
    assert made["url"] == ""
    assert read_pairing_code(made["code"], secret_of(engine, project)) is not None
