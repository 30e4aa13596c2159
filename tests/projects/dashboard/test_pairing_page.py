"""The pages on which owners pair with their agent, and create links for others."""

import re
from datetime import timedelta

from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from containers.agent_contract import PairingKind, read_pairing_code
from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import path_of, text_of


def test_the_owner_sees_a_pairing_button_until_someone_is_paired(dashboard: Client, project: Project) -> None:
    Project.objects.update(bot_username="harbour_bot")
    page = dashboard.get(path_of(project))
    assert "It answers nobody yet." in text_of(page)
    links = re.findall(r'href="(https://t.me/[^"]+)"', page.content.decode())
    assert len(set(links)) == 1
    assert "?start=o0-" in links[0]
    Project.objects.update(agent_paired=1)
    page = dashboard.get(path_of(project))
    assert "It answers nobody yet." not in text_of(page)
    assert set(re.findall(r'href="(https://t.me/[^"]+)"', page.content.decode())) == {"https://t.me/harbour_bot"}


def test_no_link_leads_to_an_agent_that_does_not_run(dashboard: Client, project: Project) -> None:
    Project.objects.update(bot_username="harbour_bot", created_at=timezone.now() - timedelta(hours=1))
    said = []
    for action in ("stop", "start"):
        dashboard.post(path_of(project, "/control"), {"action": action})
        said.append("Say hello" in text_of(dashboard.get(path_of(project))))
    assert said == [False, True]


def test_a_link_for_another_person_is_shown_once(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    Project.objects.update(bot_username="harbour_bot", agent_paired=1)
    secret = engine.containers[project.container_name].secrets["pairing_secret"]
    for mode, kind in (("add", PairingKind.ADD), ("replace", PairingKind.REPLACE)):
        page = dashboard.post(path_of(project, "/people"), {"mode": mode})
        assert page.status_code == 200
        [url] = re.findall(r"https://t.me/harbour_bot[?]start=([\w-]+)", page.content.decode())
        code = read_pairing_code(url, secret)
        assert code is not None
        assert code.kind == kind
        assert "start=" not in dashboard.get(path_of(project, "/people")).content.decode()
    assert dashboard.post(path_of(project, "/people"), {"mode": "owner"}).status_code == 400


def test_a_project_from_before_pairing_answers_everybody_until_its_next_start(
    dashboard: Client, api: APIClient, project: Project
) -> None:
    Project.objects.update(bot_username="harbour_bot", pairing_secret_ciphertext="", pairing_from=0)
    assert "start=" in dashboard.post(path_of(project, "/people"), {"mode": "add"}).content.decode()
    assert "Everyone, at your expense, until its next start." in text_of(dashboard.get(path_of(project, "/people")))
    page = dashboard.get(path_of(project))
    assert "It answers nobody yet." not in text_of(page)
    assert "start=" not in page.content.decode()
    assert api.get(f"/api/projects/{project.pk}").json()["bot"]["url"] == "https://t.me/harbour_bot"
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "restart"}).status_code == 200
    assert "It answers nobody yet." in text_of(dashboard.get(path_of(project)))


def test_the_page_says_who_is_answered(dashboard: Client, project: Project) -> None:
    said = []
    for values in (
        {"agent_paired": None},
        {"agent_paired": 1},
        {"agent_paired": 2, "settings": {"allowed_users": [7]}},
        {"settings": {"allowed_users": ["*"]}},
        {"settings": {}, "pairing_secret_ciphertext": ""},
        {"settings": {"allowed_users": [7]}},
    ):
        Project.objects.update(**values)
        said.append(re.findall(r"Who is answered (.*?[.])", text_of(dashboard.get(path_of(project, "/people"))))[0])
    assert said == [
        "It is paired with nobody yet.",
        "It is paired with 1 person.",
        "It is paired with 2 people, and also answers the users in its settings.",
        "Everyone, at your expense, because its settings say so.",
        "Everyone, at your expense, because it was created before agents could pair.",
        "The users in its settings.",
    ]
