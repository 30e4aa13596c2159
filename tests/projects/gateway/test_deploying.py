"""An agent behind the gateway has virtual credentials in the same files, and the gateway has the real ones."""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from containers.errors import EngineUnavailableError
from containers.gateway.vocabulary import AgentsNetwork, Reach
from projects.errors import NoCapacityError
from projects.models import Event, Gateway, Installation, Project
from projects.models.agent_address import take_address
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import counts_for, digest, entry_of, knows

pytestmark = pytest.mark.django_db
Control = Callable[..., Any]


def test_the_container_has_no_credential_and_the_gateway_has_both(engine: MemoryEngine, project: Project) -> None:
    container = engine.containers[project.container_name]
    assert container.spec is not None
    files, entry = engine.secrets_of(project.container_name), entry_of(engine, project)
    bot_id = CANARY_TELEGRAM_TOKEN.partition(":")[0]
    assert files["telegram_bot_token"].startswith(f"{bot_id}:bvk_")
    assert files["agent_api_key"].startswith("sk-bvk_")
    assert counts_for(engine, project) == (True, True)
    assert (entry["telegram"]["token"], entry["provider"]["key"]) == (CANARY_TELEGRAM_TOKEN, CANARY_API_KEY)
    assert entry["telegram"]["base"] == "https://api.telegram.org"
    assert (entry["provider"]["kind"], entry["provider"]["base"]) == ("openai", "https://api.openai.com/v1")
    assert container.spec.environment["TELEGRAM_API_BASE"] == "http://172.30.0.2:8080/tg"
    assert container.spec.environment["AGENT_API_BASE"] == "http://172.30.0.2:8080/llm/v1"
    assert (container.spec.address, entry["address"]) == (project.address, project.address)
    assert AgentsNetwork(subnet=engine.subnet).has(str(project.address), Reach.INTERNET)
    assert project.is_behind_gateway
    assert knows(engine, project)


def test_no_virtual_credential_is_stored_in_plain_text(engine: MemoryEngine, project: Project) -> None:
    stored = str(list(Project.objects.values()))
    assert "bvk_" not in stored
    for secret in engine.secrets_of(project.container_name).values():
        assert secret not in stored


@pytest.mark.parametrize(
    ("key", "provider", "begins", "kind", "base"),
    [
        ("sk-ant-canary0provider0api0key0p5Tj2Bd", "anthropic", "sk-ant-bvk_", "anthropic", "api.anthropic.com/v1"),
        ("sk-or-canary0provider0api0key0p5Tj2Bd", "openrouter", "sk-or-bvk_", "openrouter", "openrouter.ai/api/v1"),
    ],
)
def test_the_virtual_key_has_the_shape_of_its_provider(
    key: str, provider: str, begins: str, kind: str, base: str, engine: MemoryEngine, deploy: Callable[..., Project]
) -> None:
    project = deploy(apiKey=key)
    assert project.provider == provider
    assert engine.secrets_of(project.container_name)["agent_api_key"].startswith(begins)
    found = entry_of(engine, project)["provider"]
    assert (found["kind"], found["base"]) == (kind, f"https://{base}")


def test_an_operators_own_addresses_reach_the_gateway_and_no_agent(
    engine: MemoryEngine, deploy: Callable[..., Project], settings: Any
) -> None:
    settings.BERTH_PROVIDER_API, settings.BERTH_TELEGRAM_API = "http://10.0.0.5:9/v1", "http://10.0.0.6:9"
    project = deploy()
    entry = entry_of(engine, project)
    assert (entry["provider"]["kind"], entry["provider"]["base"]) == ("compatible", "http://10.0.0.5:9/v1")
    assert entry["telegram"]["base"] == "http://10.0.0.6:9"
    assert "10.0.0." not in str(engine.containers[project.container_name].spec)


def test_without_firewall_rights_the_credential_alone_counts(
    engine: MemoryEngine, deploy: Callable[..., Project]
) -> None:
    engine.knows_sources = False
    project = deploy()
    assert project.address is not None
    assert entry_of(engine, project)["address"] is None


def test_each_project_has_a_separate_address_and_credentials(
    engine: MemoryEngine, deploy: Callable[..., Project]
) -> None:
    projects = [deploy(), deploy(telegramToken="555:another-bot"), deploy(telegramToken="556:another-bot")]
    assert len({project.address for project in projects}) == 3
    assert len({str(engine.secrets_of(project.container_name)) for project in projects}) == 3


def test_a_restart_keeps_address_and_credentials(engine: MemoryEngine, project: Project, control: Control) -> None:
    before = engine.secrets_of(project.container_name), project.address
    assert control(project, "restart").status_code == 200
    project.refresh_from_db()
    assert (engine.secrets_of(project.container_name), project.address) == before
    assert counts_for(engine, project) == (True, True)


def test_an_address_of_a_former_network_is_given_back(engine: MemoryEngine, project: Project, control: Control) -> None:
    engine.subnet = IPv4Network("10.77.0.0/16")
    Gateway.objects.update(found_at=None)
    assert control(project, "restart").status_code == 200
    project.refresh_from_db()
    assert IPv4Address(project.address or "") in engine.subnet
    assert entry_of(engine, project)["address"] == project.address


def test_a_deploy_without_a_gateway_is_refused_and_leaves_nothing(
    engine: MemoryEngine, api: Any, body: dict[str, Any]
) -> None:
    engine.fail("ensure_gateway", EngineUnavailableError)
    assert api.post("/api/projects", body).status_code == 503
    assert not Project.objects.exists()
    assert engine.containers == {}


def test_a_deploy_succeeds_although_the_gateway_cannot_be_reached(
    engine: MemoryEngine, deploy: Callable[..., Project]
) -> None:
    """The watcher repeats the message until the gateway knows; meanwhile the gateway asks the agent to come again."""
    engine.fail("gateway", EngineUnavailableError)
    project = deploy()
    assert project.status == "running"
    assert not knows(engine, project)
    event = Event.objects.get(project_id=project.pk, action="gateway")
    assert (event.outcome, event.actor) == ("not told", "system")
    assert "told again" in event.detail


def test_a_deploy_does_not_wait_for_the_gateway_before_the_container_is_made(
    engine: MemoryEngine, deploy: Callable[..., Project]
) -> None:
    made: list[bool] = []
    engine.slow("gateway", lambda: made.append(engine.calls[-1][0] == "gateway"))
    project = deploy()
    assert made
    assert knows(engine, project)
    verbs = [verb for verb, _ in engine.calls]
    assert verbs.count("gateway") == 1, "One word is enough."


def test_addresses_are_assigned_in_turn_and_each_once(db: None) -> None:
    network = IPv4Network("10.0.0.0/29")
    given = [take_address(network) for _ in range(6)]
    assert given == [f"10.0.0.{number}" for number in range(1, 7)]
    assert take_address(network) == "10.0.0.1"  # nobody has stored any


def test_a_full_network_is_reported(project: Project) -> None:
    network = IPv4Network("10.0.0.0/30")
    Project.objects.filter(pk=project.pk).update(address="10.0.0.1")
    assert take_address(network) == "10.0.0.2"
    Installation.objects.update(next_address=int(IPv4Address("10.0.0.1")))
    assert take_address(network) == "10.0.0.2"
    with pytest.raises(NoCapacityError, match="address"):
        take_address(IPv4Network("10.0.0.0/31"))


def test_an_agent_with_one_credential_gets_one_virtual_credential(
    engine: MemoryEngine, deploy: Callable[..., Project]
) -> None:
    project = deploy(apiKey="")
    assert list(engine.secrets_of(project.container_name)) == ["telegram_bot_token"]
    assert entry_of(engine, project)["provider"] is None


def test_a_new_provider_gets_a_key_of_its_shape_at_the_next_start(
    engine: MemoryEngine, project: Project, api: Any, control: Control
) -> None:
    answer = api.patch(f"/api/projects/{project.pk}", {"apiKey": f"sk-ant-{CANARY_OTHER_API_KEY[3:]}"})
    assert answer.json()["provider"] == "anthropic"
    assert entry_of(engine, project)["provider"]["kind"] == "anthropic"
    assert control(project, "restart").status_code == 200
    key = engine.secrets_of(project.container_name)["agent_api_key"]
    assert key.startswith("sk-ant-bvk_")
    assert entry_of(engine, project)["provider"]["virtual"] == digest(key)


def test_virtual_credentials_whose_encryption_key_is_lost_are_recreated(
    engine: MemoryEngine, project: Project, control: Control, api: Any, settings: Any
) -> None:
    settings.BERTH_ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    before = entry_of(engine, project)
    assert control(project, "restart").status_code == 409
    assert entry_of(engine, project) == before, "The one that runs goes on."
    api.patch(f"/api/projects/{project.pk}", {"telegramToken": "123:new", "apiKey": CANARY_OTHER_API_KEY})
    assert control(project, "restart").status_code == 200
    assert counts_for(engine, project) == (True, True)
