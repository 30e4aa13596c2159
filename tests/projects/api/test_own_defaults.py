"""A schema's defaults for the settings that Berth itself reads count as if the owner had set them."""

import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from tests.fakes.engine import MemoryEngine


def give_defaults(**defaults: Any) -> AgentType:
    agent_type = AgentType.objects.get(is_default=True)
    agent_type.settings_schema = {"properties": {name: {"default": value} for name, value in defaults.items()}}
    agent_type.save()
    return agent_type


def test_a_default_model_has_to_be_allowed(api: APIClient, body: dict[str, Any]) -> None:
    give_defaults(model="m-large")
    Plan.objects.update(allowed_models="m-small")
    unset = {**body, "settings": {}}
    assert api.post("/api/projects", unset).status_code == 400
    assert api.post("/api/projects", {**body, "settings": {"model": "m-small"}}).status_code == 201
    address = f"/api/projects/{Project.objects.get().pk}"
    assert api.patch(address, {"settings": {"model": None}}).status_code == 400
    Plan.objects.update(allowed_models="m-large")
    assert api.patch(address, {"settings": {"model": None}}).status_code == 200


@pytest.mark.parametrize(
    ("default", "given", "awaits"),
    [([], None, True), (["@ann"], None, False), (["@ann"], [], True), (["*"], ["@bob"], False), (None, None, True)],
)
def test_an_agent_with_default_users_needs_no_pairing_link(
    project: Project, default: Any, given: Any, awaits: bool
) -> None:
    give_defaults(**({} if default is None else {"allowed_users": default}))
    Project.objects.update(settings={} if given is None else {"allowed_users": given}, agent_paired=None)
    found = Project.objects.get()
    assert found.pairs
    assert found.awaits_owner == awaits
    assert bool(found.owners_code()) == awaits


@pytest.mark.parametrize(
    ("name", "default"), [("provider", "openai"), ("model", ["a"]), ("allowed_users", "*"), ("instructions", 1)]
)
def test_a_default_that_berth_cannot_use_is_refused_and_counts_for_nothing(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, name: str, default: Any
) -> None:
    agent_type = give_defaults(**{name: default, "greeting": "Ahoy"})
    with pytest.raises(ValidationError, match=f"Berth cannot use the default of {name}"):
        agent_type.full_clean()
    Plan.objects.update(allowed_models="m-small")
    answer = api.post("/api/projects", {**body, "settings": {}})
    assert answer.status_code == 201, answer.content
    spec = engine.containers[Project.objects.get().container_name].spec
    assert spec is not None
    assert json.loads(spec.environment["AGENT_SETTINGS"]) == {"greeting": "Ahoy"}
