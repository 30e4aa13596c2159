"""A form that was open while others changed the project leaves alone what its user did not touch."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from projects.models import Plan, Project
from tests.projects.dashboard.pages import path_of

OPEN = {"allowed_users": ["*"], "instructions": "one\ntwo", "model": "old"}


def shown(answer: Any) -> dict[str, str]:
    """Returns what a browser sends if its user changes nothing."""
    form, sent = answer.context["form"], {}
    for field in form:
        value = "" if field.value() in (None, False) else str(field.value()).replace("\n", "\r\n")
        sent[field.html_name] = value
        if f'name="{field.html_initial_name}"' in answer.content.decode():
            sent[field.html_initial_name] = value
    return {name: value for name, value in sent.items() if name != "restart"}


@pytest.fixture
def project(deploy: Any) -> Project:
    found: Project = deploy(settings=OPEN)
    return found


CHANGED_ELSEWHERE: dict[str, dict[str, Any]] = {
    "name": {"name": "Renamed elsewhere"},
    "plan": {"plan": "free"},
    "egress": {"egress": "gateway"},
    "a text": {"settings": {"instructions": "new"}},
    "a list": {"settings": {"allowed_users": [5]}},
    "a setting that was not there": {"settings": {"provider": "openai"}},
    "a setting that goes": {"settings": {"instructions": None}},
}


@pytest.mark.parametrize("case", CHANGED_ELSEWHERE)
def test_a_change_made_elsewhere_stays(dashboard: Client, project: Project, api: Any, case: str) -> None:
    sent = shown(dashboard.get(path_of(project, "/change")))
    assert api.patch(f"/api/projects/{project.pk}", CHANGED_ELSEWHERE[case], format="json").status_code == 200
    before = Project.objects.get()
    assert dashboard.post(path_of(project, "/change"), sent | {"model": "new"}).status_code == 302
    after = Project.objects.get()
    assert after.settings == before.settings | {"model": "new"}
    assert (after.name, after.plan, after.own_egress) == (before.name, before.plan, before.own_egress)


def test_what_the_user_did_change_counts_although_others_changed_it_too(
    dashboard: Client, project: Project, api: Any
) -> None:
    sent = shown(dashboard.get(path_of(project, "/change")))
    api.patch(f"/api/projects/{project.pk}", {"settings": {"model": "theirs"}}, format="json")
    assert dashboard.post(path_of(project, "/change"), sent | {"model": "ours"}).status_code == 302
    assert Project.objects.get().settings["model"] == "ours"


def test_an_error_keeps_what_the_page_had_shown_first(dashboard: Client, project: Project, api: Any) -> None:
    """Otherwise the second attempt would take the state in between for what its user had seen."""
    sent = shown(dashboard.get(path_of(project, "/change")))
    api.patch(f"/api/projects/{project.pk}", {"settings": {"instructions": "new"}}, format="json")
    refused = dashboard.post(path_of(project, "/change"), sent | {"name": ""})
    assert refused.status_code == 400
    assert dashboard.post(path_of(project, "/change"), shown(refused) | sent | {"model": "new"}).status_code == 302
    assert Project.objects.get().settings["instructions"] == "new"
    hidden = refused.context["form"]["instructions"].as_hidden(only_initial=True)
    assert "one" in hidden


@pytest.mark.parametrize("other", ["month_tokens", "day_money", "month_money"])
def test_a_limit_set_elsewhere_stays(dashboard: Client, project: Project, other: str) -> None:
    Plan.objects.update(day_tokens=None, month_tokens=None, day_money=None, month_money=None)
    sent = shown(dashboard.get(path_of(project, "/budget")))
    Project.objects.update(**{f"own_{other}": 7})
    assert dashboard.post(path_of(project, "/budget"), sent | {"day_tokens": "40"}).status_code == 302
    after = Project.objects.get()
    assert (after.own_day_tokens, getattr(after, f"own_{other}")) == (40, Decimal(7))


def test_a_page_shows_no_credential_of_a_setting_a_second_time(deploy: Any, dashboard: Client) -> None:
    project = deploy(settings={"provider": "openai", "mcp_servers": {"a": {"url": "https://a.example/mcp"}}})
    fields = dashboard.get(path_of(project, "/change")).context["form"].fields
    assert not any(
        fields[name].show_hidden_initial for name in fields if name in {"mcp_servers", "api_key", "telegram_token"}
    )
