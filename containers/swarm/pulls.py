"""Has each node of a Swarm pull an image, and knows which have it: by a job of the Swarm's own for each image.

The job stays, because it says which nodes have the image. A Swarm does not run it on a node that joins later: then it
is made anew. Its program is `/bin/true`: where the image has none, its container is made all the same, and so its image
is there.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.hardening import MEBIBYTE
from containers.swarm.tasks import Run, read_run

PULL_LABEL, REPOSITORY_LABEL = "berth.pull", "berth.pull.repository"
"""The labels of such a job: the instance, and which image's it is. It is no agent's, and has no label of agents."""

TRIES, PAUSE = 3, 10
"""How often a node tries, and the seconds between."""

NOBODY = "65534:65534"

NOT_BEGUN = "None was told to pull it: run `manage.py build_images --push`, or `manage.py push_images` with its name."
UNDER_WAY = "They are pulling it: try again in a minute."


class Pulled(NamedTuple):
    """The tasks of each node, the oldest first; None where no job is there."""

    runs: Mapping[str, Sequence[Run]] | None

    def has(self, node: str) -> bool:
        return any(run.has_run for run in self._of(node))

    def is_given_up(self, node: str) -> bool:
        """Whether it has tried as often as it does."""
        return len(self._of(node)) >= TRIES and all(run.has_ended and not run.has_run for run in self._of(node))

    def failure(self, node: str) -> str:
        """Why this node does not have it, where it has said so."""
        said = [run.error for run in self._of(node) if run.has_ended and run.error]
        return "" if self.has(node) or not said else said[-1][:300]

    def explain(self) -> str:
        if self.runs is None:
            return NOT_BEGUN
        told = next(filter(None, map(self.failure, self.runs)), "")
        return f"A node says: {told}" if told else UNDER_WAY

    def _of(self, node: str) -> Sequence[Run]:
        return (self.runs or {}).get(node, ())


class Pulls:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, reference: str) -> Pulled:
        """What has become of the pull of `repository@sha256:…`."""
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
        """Has all nodes pull it. Where these `nodes` have it, there is nothing to do; else all try once more."""
        pulled = self.find(reference)
        if nodes and all(map(pulled.has, nodes)):
            return
        self._remove(job_name(reference))
        with self._connection.call() as client, understand_answer():
            client.create_service_from(job_payload(reference), credentials=credentials)

    def forget(self, repository: str, *, keep: Collection[str]) -> int:
        """Removes the jobs of former images of this repository, but for those of the references to `keep`."""
        chosen = [f"{PULL_LABEL}={settings.BERTH_INSTANCE}", f"{REPOSITORY_LABEL}={repository}"]
        with self._connection.call() as client, understand_answer():
            found = [str(row["Spec"]["Name"]) for row in client.services(filters={"label": chosen})]
        former = set(found) - set(map(job_name, keep))
        for name in former:
            self._remove(name)
        return len(former)

    def _remove(self, name: str) -> None:
        with suppress(MissingError), self._connection.call() as client:
            client.remove_service(name)


def runs_by_node(tasks: Collection[Mapping[str, Any]]) -> dict[str, list[Run]]:
    """The oldest first."""
    found: dict[str, list[Run]] = defaultdict(list)
    for run in sorted(map(read_run, tasks), key=lambda run: run.made_at.timestamp() if run.made_at else 0.0):
        if run.node:
            found[run.node].append(run)
    return dict(found)


def job_name(reference: str) -> str:
    return f"{settings.BERTH_INSTANCE}-pull-{hashlib.sha256(reference.encode()).hexdigest()[:16]}"


def job_payload(reference: str) -> dict[str, Any]:
    """It has no rights and hardly any memory, and is on no network of agents."""
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
