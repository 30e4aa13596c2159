"""Finds the node on which the Swarm runs each agent, or intends to."""

from django.conf import settings

from containers.docker_api.answers import read_labels
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.identity import is_ours
from containers.swarm.services.services import LIST_SIZE
from containers.swarm.tasks.tasks import read_run
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL


def find_places(connection: Connection) -> dict[str, str]:
    """Returns the ids of nodes by the keys of agents, in one call.

    Once the Swarm has noticed that a node is dead, it no longer wants that node's tasks and wants new ones elsewhere.
    """
    newest: dict[str, tuple[float, str]] = {}
    filters = {"label": [f"{INSTANCE_LABEL}={settings.BERTH_INSTANCE}"], "desired-state": ["running"]}
    with connection.call(size=LIST_SIZE) as client, understand_answer():
        for task in client.tasks(filters=filters):
            labels = read_labels((task["Spec"].get("ContainerSpec") or {}).get("Labels"))
            run, key = read_run(task), labels.get(PROJECT_LABEL)
            if key and run.node and not run.has_ended and is_ours(labels):
                made_at = run.made_at.timestamp() if run.made_at else 0.0
                newest[key] = max(newest.get(key, (0.0, "")), (made_at, run.node))
    return {key: node for key, (_, node) in newest.items()}
