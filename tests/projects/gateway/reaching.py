"""Who decides what an agent may reach, and what it can reach."""

from typing import Any

from containers.gateway.vocabulary import AgentsNetwork, Reach
from projects.models import Actor, AgentType, Project
from projects.rules.permissions import Egress
from projects.services.limits.permissions import impose_egress
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import entry_of

STAFF = Actor(label="sam@example.com", source="admin")


def wish(who: str, egress: Egress, project: Project, settings: Any) -> None:
    match who:
        case "installation":
            settings.BERTH_EGRESS = egress.value
        case "type":
            AgentType.objects.update(egress=egress)
        case "staff":
            impose_egress(project=project, egress=egress, actor=STAFF)
        case _:
            Project.objects.filter(pk=project.pk).update(own_egress=egress)


def reach_of(engine: MemoryEngine, project: Project) -> Reach:
    """By its address, which is what the firewall uses."""
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    network = AgentsNetwork(subnet=engine.subnet)
    assert network.has(str(spec.address), spec.reach)
    assert entry_of(engine, project)["address"] == spec.address
    return spec.reach
