"""Removes the containers of jobs that keep an agent's volume in use.

The Swarm lists no task of a job that is removed, but its node removes the job's container some time later, and may even
create it only now.
"""

from contextlib import suppress

from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.identity import is_our_helper

COPIES, MEASURES = "berth.copies", "berth.measures"
"""The labels of the jobs that copy and measure agents' states, and of their containers. The value is the instance."""


def remove_job_containers(connection: Connection, volume: str) -> None:
    """Removes, on the node that we are connected to, our jobs' containers that mount this volume, running or not."""
    with connection.call() as client, understand_answer():
        rows = client.containers(all=True, filters={"volume": [volume]})
        labels = {str(row["Id"]): row["Labels"] or {} for row in rows}
    for container, found in labels.items():
        if any(is_our_helper(found, kind) for kind in (COPIES, MEASURES)):
            with suppress(MissingError, ConflictError), connection.call() as client:
                client.remove_container(container, force=True, v=True)
