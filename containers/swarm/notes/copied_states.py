"""Notes on which node there is a copy of an agent's state, because a manager cannot look for it there.

A copy is made before an update of the image, and lasts until the update is done or undone. Meanwhile the agent is bound
to the node that has its state and the copy.
"""

import hashlib
from typing import NamedTuple

from containers.docker_api.client import Connection
from containers.swarm.notes.agent_configs import AgentConfigs
from containers.swarm.tasks.service_spec import COPIED_ON_LABEL

COMPLETE_LABEL = "berth.copied"
"""The label of a config that says that the copy is complete and may be needed."""

SHARED = "shared"
"""Stands for the node if all nodes reach the states and the copies."""


class Copy(NamedTuple):
    """`node` is an id or `SHARED`. A copy that is not complete is only to be removed. `image` is the image that made it
    as its node knows it: an update may bring one that cannot read it.
    """

    node: str
    is_complete: bool
    image: str


class CopiedStates:
    def __init__(self, connection: Connection) -> None:
        self._configs = AgentConfigs(connection)

    def find(self, key: str) -> Copy | None:
        labels = [config.labels for config in self._configs.of_key(key)]
        told = next((each[COPIED_ON_LABEL] for each in labels if COPIED_ON_LABEL in each), "")
        node, _, image = told.partition(" ")
        return Copy(node, any(COMPLETE_LABEL in each for each in labels), image) if node else None

    def begin(self, key: str, node: str, image: str) -> None:
        """Notes a copy that is not complete yet, in the place of an earlier one on the same node."""
        self.retract(key)
        told = f"{node} {image}"
        self._configs.make(key, f"copied-{hashlib.sha256(told.encode()).hexdigest()[:8]}", COPIED_ON_LABEL, told)
        for config in self._configs.of_key(key):
            if config.labels.get(COPIED_ON_LABEL, told) != told:
                self._configs.remove_one(config)

    def complete(self, key: str) -> None:
        self._configs.make(key, "copied", COMPLETE_LABEL, "yes")

    def retract(self, key: str) -> None:
        """Notes that the copy is no longer complete, or no longer needed. It still has to be removed."""
        self._configs.remove(key, COMPLETE_LABEL)

    def forget(self, key: str) -> None:
        self._configs.remove(key, COMPLETE_LABEL, COPIED_ON_LABEL)
