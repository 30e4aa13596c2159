"""Notes which nodes hold parts of agents' states, because a Swarm forgets the tasks of removed services.

Each such node is noted in a small config of the Swarm, which is deleted only after the state on it. Another config
holds the user and image of the agent's last run, which the job that deletes the state needs.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from containers.docker_api.client import Connection
from containers.errors import EngineError
from containers.swarm.notes.agent_configs import AgentConfigs
from containers.swarm.tasks.service_spec import HOME_LABEL, KEPT_ON_LABEL
from containers.swarm.tasks.tasks import Service
from containers.vocabulary import PROJECT_LABEL

PROGRAM_LABEL = "berth.ran-as"
"""The label of the config that holds the user and the image of an agent's last run."""

AT_ONCE, REMEMBERED = 10, 50_000
"""The most nodes that one call notes (the next call continues), and that a process remembers as noted."""


class Program(NamedTuple):
    """The user that an agent runs as, and its image as nodes know it."""

    user: str
    image: str


class NotedLocations(NamedTuple):
    """The nodes noted for an agent, and its last program; None if no service of the agent was ever removed."""

    nodes: frozenset[str]
    program: Program | None


def kept_on(service: Service) -> set[str]:
    """Returns the nodes that hold parts of its agent's state, according to the service itself."""
    noted = {service.labels.get(HOME_LABEL, ""), *service.labels.get(KEPT_ON_LABEL, "").split()}
    return {node for node in (*noted, *(run.node for run in service.runs if run.has_run)) if node}


def last_place_of(service: Service) -> str | None:
    """Returns the node with the state that the agent works with, or worked with last; empty if that is unknown, and
    None if it has never run.
    """
    runs = sorted((run for run in service.runs if run.has_run), key=lambda run: not run.may_live)
    if runs:
        return runs[0].node
    noted = kept_on(service)
    return min(noted) if len(noted) == 1 else "" if noted else None


def program_of(service: Service) -> Program:
    program = service.spec["TaskTemplate"].get("ContainerSpec") or {}
    return Program(user=str(program.get("User") or ""), image=str(program.get("Image") or ""))


class StateLocations:
    """One object serves all threads of a process."""

    def __init__(self, connection: Connection) -> None:
        self._configs = AgentConfigs(connection)
        self._noted: set[tuple[str, str]] = set()

    def find(self, key: str) -> NotedLocations:
        labels = [config.labels for config in self._configs.of_key(key)]
        nodes = frozenset(each[label] for each in labels for label in (HOME_LABEL, KEPT_ON_LABEL) if each.get(label))
        told = [each[PROGRAM_LABEL].partition(" ") for each in labels if PROGRAM_LABEL in each]
        return NotedLocations(nodes, Program(user=told[-1][0], image=told[-1][2]) if told else None)

    def note(self, services: Iterable[Service]) -> None:
        """Notes the nodes of these services. A later call notes what cannot be noted now.

        The nodes of a service that replaces another are noted again, because the notes may have been deleted with the
        state.
        """
        there = {(each.service_id, node): each.labels[PROJECT_LABEL] for each in services for node in kept_on(each)}
        new = {each: key for each, key in there.items() if each not in self._noted}
        if len(self._noted) > REMEMBERED:
            self._noted = set()
        with suppress(EngineError):
            known = self._list_all() if len(new) > AT_ONCE else set()
            self._noted |= {(service, node) for (service, node), key in new.items() if (key, node) in known}
            left = [each for each in new if each not in self._noted]
            for service, node in left[:AT_ONCE]:
                self._make(new[service, node], node)
                self._noted.add((service, node))

    def keep(self, service: Service) -> None:
        """Notes the nodes of a service that is about to be removed. If this raises `EngineError`, the service must
        stay.
        """
        key, program = service.labels[PROJECT_LABEL], " ".join(program_of(service))
        nodes = kept_on(service) | {run.node for run in service.runs if run.may_live and run.node}
        found = self._configs.of_key(key)
        known = {config.labels.get(KEPT_ON_LABEL) for config in found}
        for node in sorted(nodes - known):
            self._make(key, node)
        home = service.labels.get(HOME_LABEL, "")
        if home and not any(HOME_LABEL in config.labels for config in found):
            self._configs.make(key, "home", HOME_LABEL, home)  # the next service is bound to it as well
        if nodes and not any(config.labels.get(PROGRAM_LABEL) == program for config in found):
            digest = hashlib.sha256(program.encode()).hexdigest()[:8]
            self._configs.make(key, f"as-{digest}", PROGRAM_LABEL, program)
            for config in found:
                if PROGRAM_LABEL in config.labels:
                    self._configs.remove_one(config)

    def forget(self, key: str) -> None:
        """Deletes all notes of this agent, whose state is gone everywhere."""
        self._configs.remove(key, HOME_LABEL, KEPT_ON_LABEL, PROGRAM_LABEL)

    def _list_all(self) -> set[tuple[str, str]]:
        found = (config.labels for config in self._configs.with_label(KEPT_ON_LABEL))
        return {(labels.get(PROJECT_LABEL, ""), labels[KEPT_ON_LABEL]) for labels in found}

    def _make(self, key: str, node: str) -> None:
        self._configs.make(key, f"on-{node[:12]}", KEPT_ON_LABEL, node)
