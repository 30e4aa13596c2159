"""On which nodes something is left of what agents remember, also once a service has gone and its tasks are forgotten.

Each such node is noted as a small config of the Swarm, which goes only once the memory has gone there. Another one says
as whom and by which image the agent ran last, for who is to empty what it has left.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from containers.docker_api.client import Connection
from containers.errors import EngineError
from containers.swarm.agent_configs import AgentConfigs
from containers.swarm.service_spec import HOME_LABEL, KEPT_ON_LABEL
from containers.swarm.tasks import Service
from containers.vocabulary import PROJECT_LABEL

PROGRAM_LABEL = "berth.ran-as"
"""The label of the config that says as whom an agent ran last, and by which image."""

AT_ONCE, REMEMBERED = 10, 50_000
"""Nodes that one look notes at most, where the next one goes on, and those that a process knows to be noted."""


class Program(NamedTuple):
    """As whom an agent runs, and its image as nodes know it."""

    user: str
    image: str


class Traces(NamedTuple):
    """The nodes that are noted of an agent, and what ran there last; None where no service of it has ever gone."""

    nodes: frozenset[str]
    program: Program | None


def kept_on(service: Service) -> set[str]:
    """The nodes that have something of what its agent remembers, as far as the service itself tells."""
    noted = {service.labels.get(HOME_LABEL, ""), *service.labels.get(KEPT_ON_LABEL, "").split()}
    return {node for node in (*noted, *(run.node for run in service.runs if run.has_run)) if node}


def program_of(service: Service) -> Program:
    program = service.spec["TaskTemplate"].get("ContainerSpec") or {}
    return Program(user=str(program.get("User") or ""), image=str(program.get("Image") or ""))


class NotedTraces:
    """One object serves all threads of a process."""

    def __init__(self, connection: Connection) -> None:
        self._configs = AgentConfigs(connection)
        self._noted: set[tuple[str, str]] = set()

    def find(self, key: str) -> Traces:
        labels = [config.labels for config in self._configs.of_key(key)]
        nodes = frozenset(each[label] for each in labels for label in (HOME_LABEL, KEPT_ON_LABEL) if each.get(label))
        told = [each[PROGRAM_LABEL].partition(" ") for each in labels if PROGRAM_LABEL in each]
        return Traces(nodes, Program(user=told[-1][0], image=told[-1][2]) if told else None)

    def note(self, services: Iterable[Service]) -> None:
        """The nodes of what a look has found. What cannot be noted now, a later look notes.

        A service that takes another one's place is noted anew: the notes may have gone with what was remembered.
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
        """What this service tells, which is about to be removed. Raises `EngineError`: then it is to stay."""
        key, program = service.labels[PROJECT_LABEL], " ".join(program_of(service))
        nodes = kept_on(service) | {run.node for run in service.runs if run.may_live and run.node}
        found = self._configs.of_key(key)
        known = {config.labels.get(KEPT_ON_LABEL) for config in found}
        for node in sorted(nodes - known):
            self._make(key, node)
        home = service.labels.get(HOME_LABEL, "")
        if home and not any(HOME_LABEL in config.labels for config in found):
            self._configs.make(key, "home", HOME_LABEL, home)  # the next one is bound to it as well
        if nodes and not any(config.labels.get(PROGRAM_LABEL) == program for config in found):
            digest = hashlib.sha256(program.encode()).hexdigest()[:8]
            self._configs.make(key, f"as-{digest}", PROGRAM_LABEL, program)
            for config in found:
                if PROGRAM_LABEL in config.labels:
                    self._configs.remove_one(config)

    def forget(self, key: str) -> None:
        """Nothing of it is left anywhere."""
        self._configs.remove(key, HOME_LABEL, KEPT_ON_LABEL, PROGRAM_LABEL)

    def _list_all(self) -> set[tuple[str, str]]:
        found = (config.labels for config in self._configs.with_label(KEPT_ON_LABEL))
        return {(labels.get(PROJECT_LABEL, ""), labels[KEPT_ON_LABEL]) for labels in found}

    def _make(self, key: str, node: str) -> None:
        self._configs.make(key, f"on-{node[:12]}", KEPT_ON_LABEL, node)
