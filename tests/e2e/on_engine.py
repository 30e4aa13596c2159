"""The gateway and an agent as the engine sees them, and the service's counts."""

from typing import Any

from tests.canaries import find_canary
from tests.containers.inside import run_inside
from tests.e2e.service import Service


def gateways_of(service: Service) -> list[str]:
    """Returns the id of the gateway's container, if there is one."""
    chosen = {"label": [f"berth.gateway={service.environment['BERTH_INSTANCE']}"]}
    return [str(each["Id"]) for each in service.engine.containers(all=True, filters=chosen)]


def has_virtual_credentials(service: Service, project: str) -> bool:
    """Whether the agent has only virtual credentials, or only the real ones."""
    [agent] = service.engine.containers(filters={"label": [f"berth.project={project}"]})
    paths = ("/run/secrets/telegram_bot_token", "/run/secrets/agent_api_key")
    code, files = run_inside(service.engine, agent["Id"], "cat", *paths)
    assert (code, files.count("bvk_")) == (0, 2 if find_canary(files) is None else 0)
    return "bvk_" in files


def used(service: Service, token: str, project: str) -> Any:
    """Returns the project's detail once the watcher has read the agent's usage."""
    detail = service.call("GET", f"/api/projects/{project}", token=token).json
    return detail if detail["usage"]["today"]["requests"] >= 4 else None


def is_paired(service: Service, token: str, project: str, link: str) -> bool:
    """Whether the agent has reported that someone has paired with it, so that the pairing link is gone."""
    bot = service.call("GET", f"/api/projects/{project}", token=token).json["bot"]
    return (bot["url"], bot["paired"]) == (link, 1)
