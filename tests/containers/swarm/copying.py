"""A fake Swarm whose jobs copy agents' memories. It can kill the calling process at any request."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection, DockerClient
from containers.hardening import COPY, data_volume
from containers.identity import container_name
from containers.swarm.services.secrets import Secrets
from containers.swarm.services.services import Services
from containers.swarm.services.verbs import Verbs
from containers.swarm.states.copies import Copies
from containers.swarm.states.copy_programs import COPY_PATH, KEEP, LABEL, RETURN, STATE_PATH
from containers.swarm.tasks.service_spec import COPIED_ON_LABEL
from containers.vocabulary import INSTANCE_LABEL
from tests.containers.docker_api.calling import SPEC
from tests.containers.swarm.manager import Manager
from tests.containers.swarm.test_node_gateways import node
from tests.fakes.messages import Answer, Request

HERE, AWAY = "n1", "n2"
"""The node that Berth talks to, and another one."""

KEY = SPEC.key
OLD, SPOILED, HALF = "what it knew", "what a new image has made of it", "a part of what it knew"
LABELS = {INSTANCE_LABEL: "berth", "berth.project": KEY}


class Killed(BaseException):
    """Stands for the end of the process."""


class CopyingManager(Manager):
    """`volumes`: the contents of volumes by node and name. While `stalls` is true, jobs begin and do not end."""

    def __init__(self) -> None:
        super().__init__()
        self.volumes: dict[tuple[str, str], str] = {}
        self.stalls = False
        self.scripts: list[str] = []
        self.images: list[str] = []
        self.exit_code = 0

    def answer(self, request: Request) -> Answer:
        room, _, name = request.path.split("/", 2)[-1].partition("/")
        if room == "volumes" and request.method == "DELETE":
            gone = self.volumes.pop((HERE, name), None)
            return Answer(204, b"") if gone is not None else Answer.json(404, {"message": "no such volume"})
        if room == "services" and request.method == "DELETE":
            for task in self.rows["tasks"]:
                if task["ServiceID"] == name and task["Status"]["State"] == "running":
                    task["Status"]["State"] = "shutdown"
        if not name and request.method == "GET" and "filters" in request.query:
            rows = self.rows.get(room, [])
            return Answer.json(200, [row for row in rows if _matches(row, json.loads(request.query["filters"]))])
        return super().answer(request)

    def _create(self, room: str, request: Request) -> Answer:
        answer = super()._create(room, request)
        made = self.rows[room][-1]
        if room == "services" and LABEL in made["Spec"]["Labels"]:
            self._work(made)
        return answer

    def _work(self, job: dict[str, Any]) -> None:
        template = job["Spec"]["TaskTemplate"]
        program = template["ContainerSpec"]
        there = template["Placement"]["Constraints"][0].partition(" == ")[2]
        mounted = {mount["Target"]: (there, mount["Source"]) for mount in program["Mounts"]}
        state, copy = mounted.get(STATE_PATH, ("", "")), mounted[COPY_PATH]
        script = program["Command"][2]
        self.scripts.append(script)
        self.images.append(program["Image"])
        code = self._fill(script, state, copy)
        status = {"State": "running" if self.stalls else "failed" if code else "complete"}
        status |= {"Timestamp": "2026-01-01T00:00:00Z", "Err": f"task: non-zero exit ({code})" if code else ""}
        status |= {"ContainerStatus": {"ContainerID": "c", "ExitCode": code}}  # type: ignore[dict-item]  # a status is
        task = {"ID": f"t{len(self.scripts)}", "ServiceID": job["ID"], "NodeID": there, "DesiredState": "running"}
        spec = {"ContainerSpec": {"Labels": program["Labels"]}}
        self.rows["tasks"].append({**task, "CreatedAt": "2026-01-01T00:00:09Z", "Spec": spec, "Status": status})

    def _fill(self, script: str, state: tuple[str, str], copy: tuple[str, str]) -> int:
        """Does what the job's program does, or half of it while `stalls` is true. Returns the exit code."""
        volumes = self.volumes
        if self.exit_code:
            return self.exit_code
        if script == KEEP:
            volumes[copy] = "" if self.stalls else volumes.get(state, "")
        elif script == RETURN:
            if not volumes.get(copy):
                return 3
            volumes[state] = HALF if self.stalls else volumes[copy]
        else:
            volumes[copy] = ""
        return 0

    @property
    def jobs(self) -> list[dict[str, Any]]:
        return [row for row in self.rows["services"] if LABEL in row["Spec"]["Labels"]]

    @property
    def agent(self) -> dict[str, Any]:
        [found] = [row for row in self.rows["services"] if LABEL not in row["Spec"]["Labels"]]
        return found


def _matches(row: dict[str, Any], filters: dict[str, Sequence[str]]) -> bool:
    if row.get("ServiceID") not in filters.get("service", [row.get("ServiceID")]):
        return False
    spec = row["Spec"]
    labels = spec.get("Labels") or (spec.get("ContainerSpec") or {}).get("Labels") or {}
    wanted = [each.partition("=") for each in filters.get("label", [])]
    return all(name in labels and (not equals or labels[name] == value) for name, equals, value in wanted)


@contextmanager
def copying_swarm(monkeypatch: pytest.MonkeyPatch, place: str) -> Iterator[CopyingManager]:
    """Three nodes, and an agent that has stopped on the node that Berth talks to."""
    with CopyingManager() as found, override_settings(BERTH_INSTANCE="berth", BERTH_GATEWAY=False):
        monkeypatch.setenv("DOCKER_HOST", found.url.replace("http", "tcp"))
        monkeypatch.setattr("containers.swarm.states.copy_jobs._ASK_EVERY", 0.0)
        monkeypatch.setattr("containers.swarm.services.verbs._PAUSES", (0.0, 0.0))
        template = {"ContainerSpec": {"Image": "i", "User": "7:7"}, "Placement": {"Constraints": []}}
        mode = {"Replicated": {"Replicas": 0}}
        spec = {"Name": container_name(KEY), "Labels": LABELS, "Mode": mode, "TaskTemplate": template}
        row = {"ID": "s", "Version": {"Index": 1}, "CreatedAt": "2026-01-01T00:00:00Z", "Spec": spec}
        found.rows |= {"services": [row], "nodes": [node(1), node(2), node(3)], "configs": [], "secrets": []}
        found.rows["tasks"] = [ended_task(place)]
        found.bodies["/containers/json"] = Answer.json(200, [])
        found.bodies["/info"] = Answer.json(200, {"Swarm": {"NodeID": HERE}})
        found.volumes[state_on(place)] = OLD
        yield found


def ended_task(place: str, state: str = "shutdown") -> dict[str, Any]:
    status = {"State": state, "Timestamp": "2026-01-01T00:00:00Z", "ContainerStatus": {"ContainerID": "c"}}
    task = {"ID": "1", "ServiceID": "s", "NodeID": place, "DesiredState": "shutdown"}
    return {
        **task, "CreatedAt": "2026-01-01T00:00:01Z", "Spec": {"ContainerSpec": {"Labels": LABELS}}, "Status": status,
    }  # fmt: skip


def state_on(place: str) -> tuple[str, str]:
    return place, data_volume(container_name(KEY))


def copy_on(place: str) -> tuple[str, str]:
    return place, f"{container_name(KEY)}{COPY}"


def bind(swarm: CopyingManager, place: str) -> None:
    """Binds the agent to the node with its copy, as a start does."""
    spec = swarm.agent["Spec"]
    spec["Labels"] = {**spec["Labels"], COPIED_ON_LABEL: place}
    spec["TaskTemplate"]["Placement"]["Constraints"] = ["node.labels.a != b", f"node.id == {place}"]


def copies(lost: frozenset[str] = frozenset()) -> Copies:
    """Returns the copies as a new process sees them."""
    connection = Connection()
    services = Services(connection)
    verbs = Verbs(connection, services, Secrets(connection), lambda: lost)
    return Copies(connection, services, verbs, lambda: lost, lambda name: None)


def kill_after(patch: pytest.MonkeyPatch, changes: int) -> None:
    """Kills the process after this many requests that change something. Later requests are refused, too."""
    real, left = DockerClient.request, changes

    def request(client: DockerClient, method: str, *args: Any, **options: Any) -> Any:
        nonlocal left
        if left <= 0:
            raise Killed
        answer = real(client, method, *args, **options)
        left -= method != "GET"
        return answer

    patch.setattr(DockerClient, "request", request)
