"""Lets every node of a Swarm pull an image, and knows which nodes have it, with one Swarm job for each image.

The job stays, because its tasks show which nodes have the image. A Swarm does not run an existing job on a node that
joins later, so the job is then created again. Its program is `/bin/true`. Even if an image has no such program, the
node creates the container and so has the image.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.hardening import MEBIBYTE
from containers.swarm.tasks.job_containers import remove_job
from containers.swarm.tasks.tasks import Run, read_run

PULL_LABEL, REPOSITORY_LABEL = "berth.pull", "berth.pull.repository"
"""The labels of such a job: our instance, and the repository of the image. It has none of the agents' labels."""

TRIES, PAUSE = 3, 10
"""How often a node tries, and the seconds between two tries."""

NOBODY = "65534:65534"

NOT_BEGUN = "No node was told to pull it. Run `manage.py build_images --push` or `manage.py push_images` with its name."
UNDER_WAY = "They are pulling it: try again in a minute."


class Pulled(NamedTuple):
    """The tasks of each node, oldest first; None if there is no job."""

    runs: Mapping[str, Sequence[Run]] | None

    def has(self, node: str) -> bool:
        return any(run.has_run for run in self._of(node))

    def is_given_up(self, node: str) -> bool:
        """Whether the node has failed as often as it may try."""
        return len(self._of(node)) >= TRIES and all(run.has_ended and not run.has_run for run in self._of(node))

    def failure(self, node: str) -> str:
        """Returns why this node does not have the image; empty if it has not said so."""
        said = [run.error for run in self._of(node) if run.has_ended and run.error]
        return "" if self.has(node) or not said else said[-1][:300]

    def explain(self) -> str:
        if self.runs is None:
            return NOT_BEGUN
        failure = next(filter(None, map(self.failure, self.runs)), "")
        return f"A node says: {failure}" if failure else UNDER_WAY

    def _of(self, node: str) -> Sequence[Run]:
        return (self.runs or {}).get(node, ())


class Pulls:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, reference: str) -> Pulled:
        """Returns the state of the pull of `repository@sha256:…`."""
        try:
            with self._connection.call() as client, understand_answer():
                job = str(client.inspect_service(job_name(reference))["ID"])
                tasks = client.tasks(filters={"service": [job]})
        except MissingError:
            return Pulled(None)
        with understand_answer():
            return Pulled(runs_by_node(tasks))

    @sensitive_variables("credentials")
    def begin(self, reference: str, *, credentials: str, nodes: Collection[str]) -> None:
        """Lets all nodes pull the image. Does nothing if these `nodes` have it; otherwise all nodes try again."""
        pulled = self.find(reference)
        if nodes and all(map(pulled.has, nodes)):
            return
        remove_job(self._connection, job_name(reference))
        with self._connection.call() as client, understand_answer():
            client.create_service_from(job_payload(reference), credentials=credentials)

    def forget(self, repository: str, *, keep: Collection[str]) -> int:
        """Removes the jobs of this repository's former images, except those of the references to `keep`."""
        chosen = [f"{PULL_LABEL}={settings.BERTH_INSTANCE}", f"{REPOSITORY_LABEL}={repository}"]
        with self._connection.call() as client, understand_answer():
            found = [str(row["Spec"]["Name"]) for row in client.services(filters={"label": chosen})]
        former = set(found) - set(map(job_name, keep))
        for name in former:
            remove_job(self._connection, name)
        return len(former)


def runs_by_node(tasks: Collection[Mapping[str, Any]]) -> dict[str, list[Run]]:
    """Returns the tasks of each node, oldest first."""
    found: dict[str, list[Run]] = defaultdict(list)
    for run in sorted(map(read_run, tasks), key=lambda run: run.made_at.timestamp() if run.made_at else 0.0):
        if run.node:
            found[run.node].append(run)
    return dict(found)


def job_name(reference: str) -> str:
    return f"{settings.BERTH_INSTANCE}-pull-{hashlib.sha256(reference.encode()).hexdigest()[:16]}"


def job_payload(reference: str) -> dict[str, Any]:
    """Returns a job with no rights, hardly any memory and no network of agents."""
    labels = {PULL_LABEL: settings.BERTH_INSTANCE, REPOSITORY_LABEL: reference.partition("@")[0]}
    program = {
        "Image": reference,
        "Command": ["/bin/true"],
        "User": NOBODY,
        "ReadOnly": True,
        "CapabilityDrop": ["ALL"],
        "HealthCheck": {"Test": ["NONE"]},
    }
    return {
        "Name": job_name(reference),
        "Labels": labels,
        "Mode": {"GlobalJob": {}},
        "TaskTemplate": {
            "ContainerSpec": program,
            "Resources": {"Limits": {"MemoryBytes": 16 * MEBIBYTE, "Pids": 16}},
            "RestartPolicy": {"Condition": "on-failure", "Delay": PAUSE * 1_000_000_000, "MaxAttempts": TRIES - 1},
        },
    }
