"""Removes jobs, and the containers of jobs that keep an agent's volume in use.

The Swarm lists no task of a job that is removed, but its node removes the job's container some time later, and may even
create it only now.
"""

from contextlib import suppress

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.identity import is_our_helper

COPIES, MEASURES = "berth.copies", "berth.measures"
"""The labels of the jobs that copy and measure agents' states, and of their containers. The value is the instance."""


def remove_job(connection: Connection, job: str) -> None:
    """Removes the service of this job, by its name or id. A missing one is no error."""
    with suppress(MissingError), connection.call() as client:
        client.remove_service(job)


def remove_job_containers(connection: Connection, volume: str) -> None:
    """Removes, on the node that we are connected to, our jobs' containers that mount this volume, running or not."""
    for kind in (COPIES, MEASURES):
        chosen = {"label": [f"{kind}={settings.BERTH_INSTANCE}"], "volume": [volume]}
        with connection.call() as client, understand_answer():
            rows = client.containers(all=True, filters=chosen)
            containers = [str(row["Id"]) for row in rows if is_our_helper(row["Labels"] or {}, kind)]
        for each in containers:
            with suppress(MissingError, ConflictError), connection.call(about_one=True) as client:
                client.remove_container(each, force=True, v=True)
