"""Which hosts and models staff allow: what they may write, what the gateway gets, and what owners see."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from projects.rules.permissions import MOST_ENTRIES, Egress, models_in_force, read_hosts, read_models
from projects.services.limits.permissions import renew_entries_of
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import entry_of
from tests.projects.gateway.hosts import HOSTS
from tests.projects.hidden_characters import sample

NO_HOSTS = (
    *("*.example.com", "*", "api.*.com", "localhost", "gateway", "db.internal", "printer.local", "x.localhost"),
    *("127.0.0.1", "10.0.0.5:443", "1.1.1.1", "0x7f.1", "2130706433", "[::1]", "::1", "[fd00::5]:443", "1.2.3.0x4"),
    *("https://api.example.com", "api.example.com/path", "api.example.com:0", "api.example.com:65536"),
    *("api.example.com:", "api.example.com:443x", "api.example.com:+80", "api.example.com:٨٠", "user@example.com"),
    *("api_x.example.com", "-a.example.com", "a-.example.com", "a..example.com", ".example.com", "example.com."),
    *("a" * 64 + ".example.com", "a." * 127 + "example", "straße.example", "api.example.com evil.com", "a\tb.com"),
    *("api.example.com,b.com", "api.example.com#x", "api.example.com?", "ex\u200dample.com", "api.example.com\x00"),
)


@pytest.mark.parametrize(("written", "told"), HOSTS.items())
def test_a_host_is_sent_in_the_form_that_the_gateway_compares(written: str, told: str) -> None:
    assert read_hosts(written) == [told]
    assert read_hosts(told) == [told]


@pytest.mark.parametrize("written", NO_HOSTS)
def test_anything_but_a_public_host_name_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        read_hosts(f"api.example.com\n{written}")


@pytest.mark.rare(1)
def test_invisible_characters_are_refused() -> None:
    """Except for the end of a line."""
    taken = [
        hex(ord(each))
        for each in sample()
        for read, entry in ((read_hosts, f"a{each}b.example"), (read_models, f"a{each}b"))
        if each != "\n" and is_taken(read, entry)
    ]
    assert taken == []


def is_taken(read: Callable[[str], list[str]], entry: str) -> bool:
    try:
        return bool(read(entry))
    except ValueError:
        return False


def test_lists_have_an_end_and_hold_nothing_twice() -> None:
    assert read_hosts("a.example\n\nA.EXAMPLE:443\n") == ["a.example"]
    assert read_models("gpt-5\n gpt-5 \nopenai/gpt-5:free") == ["gpt-5", "openai/gpt-5:free"]
    for read, entry in ((read_hosts, "h{}.example"), (read_models, "m{}")):
        assert len(read("\n".join(map(entry.format, range(MOST_ENTRIES))))) == MOST_ENTRIES
        with pytest.raises(ValueError, match="at most"):
            read("\n".join(map(entry.format, range(MOST_ENTRIES + 1))))


@pytest.mark.parametrize("written", ["gpt 5", "gpt\x005", "gpt-\u00fc", "m" * 201, "gpt\t5", "\u202egpt"])
def test_an_invalid_model_name_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="model"):
        read_models(written)


@pytest.mark.parametrize(
    ("lists", "allowed"),
    [
        (("", ""), None),
        (("a\nb", ""), {"a", "b"}),
        (("", "b"), {"b"}),
        (("a\nb", "b\nc"), {"b"}),
        (("a", "b"), set()),
        ((" \n", "\n"), None),
    ],
)
def test_both_lists_count(lists: tuple[str, str], allowed: set[str] | None) -> None:
    assert models_in_force(lists) == allowed


@pytest.mark.django_db
def test_rows_take_no_list_that_is_not_valid() -> None:
    agent_type, plan = AgentType.objects.get(slug="assistant"), Plan.objects.get(slug="pro")
    agent_type.allowed_hosts = "API.example.com:443\nbücher.example"
    agent_type.full_clean()
    assert agent_type.host_names == ["api.example.com", "xn--bcher-kva.example"]
    for row, column, value in (
        (agent_type, "allowed_hosts", "10.0.0.1"),
        (agent_type, "allowed_models", "two words"),
        (plan, "allowed_models", "two words"),
    ):
        setattr(row, column, value)
        with pytest.raises(ValidationError) as refused:
            row.full_clean()
        assert column in refused.value.message_dict
        setattr(row, column, "")


@pytest.mark.django_db
def test_the_gateway_gets_the_change_within_a_round_and_the_agent_keeps_running(
    engine: MemoryEngine, project: Project, api: APIClient
) -> None:
    container = engine.containers[project.container_name].container_id
    assert (entry_of(engine, project)["models"], entry_of(engine, project)["hosts"]) == (None, [])
    AgentType.objects.update(allowed_models="a\nb", allowed_hosts="x.example:8443\ny.example")
    Plan.objects.update(allowed_models="b\nc")
    renew_entries_of(project.agent_type)
    renew_entries_of(project.plan)
    look_after_gateway()
    entry = entry_of(engine, project)
    assert (entry["models"], entry["hosts"]) == (["b"], ["x.example:8443", "y.example"])
    assert engine.containers[project.container_name].container_id == container
    assert api.get(f"/api/projects/{project.pk}").json()["models"] == ["b"]
    Plan.objects.update(allowed_models="z")
    renew_entries_of(project.plan)
    look_after_gateway()
    assert entry_of(engine, project)["models"] == []


@pytest.mark.django_db
def test_the_catalogue_lists_hosts_and_models(api: APIClient, settings: Any) -> None:
    AgentType.objects.update(allowed_models="b\na", allowed_hosts="x.example", egress=Egress.GATEWAY)
    Plan.objects.filter(slug="free").update(allowed_models="a")
    told = api.get("/api/types").json()[0]
    assert (told["models"], told["hosts"], told["egress"]) == (["b", "a"], ["x.example"], "gateway")
    plans = {plan["slug"]: plan["models"] for plan in api.get("/api/plans").json()}
    assert (plans["free"], plans["pro"]) == (["a"], None)
    AgentType.objects.update(egress=Egress.INTERNET)
    settings.BERTH_EGRESS = "gateway"
    assert api.get("/api/types").json()[0]["egress"] == "gateway"


@pytest.mark.django_db
@pytest.mark.parametrize("row", [AgentType, Plan])
@pytest.mark.parametrize("verb", ["create", "validate", "change"])
def test_an_owner_chooses_among_the_allowed_models(
    api: APIClient, body: dict[str, Any], project: Project, row: Any, verb: str
) -> None:
    row.objects.update(allowed_models="gpt-5\ngpt-5-mini")
    for model, is_allowed in (("gpt-4", False), ("GPT-5", False), ("gpt-5", True), ("", True)):
        chosen = {"settings": {"model": model}} if model else {"settings": {"instructions": "Be kind."}}
        if verb == "change":
            answer = api.patch(f"/api/projects/{project.pk}", chosen)
        else:
            wanted = body | chosen | {"plan": "pro", "telegramToken": "555:a-free-bot"}
            answer = api.post("/api/projects" + "/validate" * (verb == "validate"), wanted)
        if is_allowed:
            assert answer.status_code < 300, answer.json()
            Project.objects.exclude(pk=project.pk).delete()
        else:
            error = answer.json()["errors"][0]
            assert (answer.status_code, error["field"], error["code"]) == (400, "settings.model", "not_allowed")
            assert "gpt-5-mini" in error["detail"]


@pytest.mark.django_db
def test_a_shortened_list_blocks_only_a_change_of_plan(api: APIClient, project: Project) -> None:
    api.patch(f"/api/projects/{project.pk}", {"settings": {"model": "gpt-5"}})
    Plan.objects.filter(slug="free").update(allowed_models="gpt-4")
    AgentType.objects.update(allowed_models="gpt-4")
    assert api.patch(f"/api/projects/{project.pk}", {"name": "Another"}).status_code == 200
    assert api.patch(f"/api/projects/{project.pk}", {"settings": {"instructions": "x"}}).status_code == 200
    assert api.patch(f"/api/projects/{project.pk}", {"plan": "free"}).status_code == 400
    assert api.patch(f"/api/projects/{project.pk}", {"plan": "free", "settings": {"model": "gpt-4"}}).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("hosts", ["x.example", ""])
def test_an_agent_confined_to_the_gateway_gets_a_proxy_for_its_hosts(
    engine: MemoryEngine, deploy: Callable[..., Project], hosts: str
) -> None:
    """Also without hosts, so that the first one is in force without a restart."""
    AgentType.objects.update(allowed_hosts=hosts)
    confined, free = deploy(egress="gateway"), deploy(telegramToken="555:another-bot")
    for project, proxy in ((confined, "http://172.30.0.2:8080"), (free, None)):
        spec = engine.containers[project.container_name].spec
        assert spec is not None
        assert (spec.environment.get("HTTPS_PROXY"), spec.environment.get("https_proxy")) == (proxy, proxy)
