"""Tries out an image on Docker: runs it with a fake Bot API server and a fake provider, and records the result."""

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from containers.agent_contract import SECRETS_PATH, STATUS_MARK, AgentState
from containers.agent_reports import parse_report
from containers.docker.helpers import remove_helper
from containers.docker.secrets import pack_secrets
from containers.docker.trials.logs import read_all, read_end
from containers.docker.trials.payloads import agent_payload, servers_payload
from containers.docker_api.building.image_build import AGENT_BASE, GATEWAY, find_contexts, inspect_image
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.docker_api.usable_images import UsableImages
from containers.engine.trials import TrialRun
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.outbound.call_limits import time_limit
from containers.trial_servers.constants import ANSWERED, LISTENING, POLLED
from containers.vocabulary import PROJECT_LABEL, AgentReport, ContainerSpec

_LOOK_EVERY, _LOOK_SELDOM = 0.1, 0.5
_LISTEN_WITHIN = 10.0
_LEFT_BEHIND = 600.0
"""Seconds after which no caller waits for a trial any longer."""
_BESIDE = 26.0
"""Seconds that the calls of a run may take in addition to the agent's own time. Removals come on top."""
_NO_IMAGE = (
    "No image with Python is on the engine, which a trial needs beside the agent: `manage.py build_images agent-base` "
    "makes one."
)


@dataclass(slots=True)
class _Notes:
    """What was observed of a run so far."""

    facts: dict[str, Any] = field(default_factory=dict)

    def first(self, name: str, *, at: float) -> None:
        self.facts.setdefault(name, round(at, 2))

    @property
    def is_complete(self) -> bool:
        return {"ready_after", "answered_after"} <= self.facts.keys() or "exit_code" in self.facts


class Trial:
    """One call of `try_image`."""

    def __init__(self, connection: Connection, spec: ContainerSpec) -> None:
        self._connection = connection
        self._spec = spec
        self._images = UsableImages(connection)
        self._notes = _Notes()
        self._agent = ""
        self._until = 0.0

    def run(self, *, token: str, key: str, within: float, grace: int) -> TrialRun:
        self._until = time.monotonic() + within + _BESIDE
        with self._in_time():
            self._remove_left_behind()
            payload = servers_payload(self._spec, image=self._find_image(), token=token, key=key)
        try:
            with self._in_time():
                image = self._images.require(self._spec.image)
                self._notes.facts["volumes"] = image.places
        except EngineRefusedError as error:
            return TrialRun(refusal=str(error))
        with self._container(payload) as servers:
            with self._in_time():
                self._start_servers(servers)
            try:
                spec = replace(self._spec, image=image.image_id)
                payload = agent_payload(spec, servers=servers, places=image.places)
                with self._container(payload) as self._agent, self._in_time():
                    self._watch(servers, within)
                    self._end(grace)
                    self._notes.facts["lines"] = tuple(read_all(self._connection, self._agent))
            except EngineUnavailableError:
                raise
            except EngineError as error:
                self._notes.facts["refusal"] = str(error)
        return TrialRun(**self._notes.facts)

    def _in_time(self) -> AbstractContextManager[None]:
        """Limits everything except removals, which must happen even if the time is over."""
        return time_limit(self._until - time.monotonic())

    def _find_image(self) -> str:
        candidates = [AGENT_BASE.image, GATEWAY.image, *(context.image for context in find_contexts())]
        image = next((each for each in candidates if inspect_image(self._connection, each)), None)
        if image is None:
            raise EngineRefusedError(_NO_IMAGE)
        return image

    @contextmanager
    def _container(self, payload: dict[str, Any]) -> Iterator[str]:
        with self._in_time(), self._connection.call() as client, understand_answer():
            container_id = str(client.create_container_from_config(payload, None)["Id"])
        try:
            yield container_id
        finally:
            remove_helper(self._connection, container_id)

    def _remove_left_behind(self) -> None:
        """Removes containers of killed processes, by the engine's clock: by ours, those of other runs may seem old."""
        filters = {"label": [f"{name}={value}" for name, value in self._spec.labels.items()]}
        with self._connection.call() as client, understand_answer():
            rows = client.containers(all=True, filters=filters)
            found = [(str(row["Id"]), row["Created"]) for row in rows if not (row["Labels"] or {}).get(PROJECT_LABEL)]
            now = datetime.fromisoformat(client.info()["SystemTime"]).timestamp() if found else 0.0
        for container_id, created in found:
            if now - created > _LEFT_BEHIND:
                remove_helper(self._connection, container_id)

    def _start_servers(self, servers: str) -> None:
        with self._connection.call(about_one=True) as client:
            client.start(servers)
        until = time.monotonic() + _LISTEN_WITHIN
        while LISTENING not in [event["event"] for event in self._events(servers)]:
            if time.monotonic() >= until:
                raise EngineRefusedError("The servers for the trial did not start. Is the engine very busy?")
            time.sleep(_LOOK_EVERY)

    def _watch(self, servers: str, within: float) -> None:
        with self._connection.call(about_one=True) as client:
            client.put_archive(self._agent, SECRETS_PATH, pack_secrets(self._spec.secrets, group=self._spec.user))
        with self._connection.call(about_one=True) as client:
            client.start(self._agent)
        began = time.monotonic()
        while not self._notes.is_complete and (since := time.monotonic() - began) < within:
            self._note_state(since)
            self._note_lines(since)
            self._note_events(self._events(servers), since)
            if not self._notes.is_complete:
                time.sleep(min(_LOOK_EVERY + since / 20, _LOOK_SELDOM))

    def _note_state(self, at: float) -> None:
        with self._connection.call(about_one=True) as client, understand_answer():
            found = client.inspect_container(self._agent)
            state, health = found["State"], found["State"].get("Health")
        self._notes.facts["has_health_check"] = bool(health)
        if not state["Running"]:
            self._notes.facts |= {"exit_code": int(state["ExitCode"]), "is_out_of_memory": bool(state["OOMKilled"])}
        elif health and health["Status"] == "healthy":
            self._notes.first("ready_after", at=at)

    def _note_lines(self, at: float) -> None:
        lines = read_end(self._connection, self._agent)
        self._notes.facts["lines"] = tuple(lines)
        reports = [report for line in lines if line.startswith(STATUS_MARK) and (report := parse_report(line))]
        self._note_reports(reports, at)

    def _note_reports(self, reports: list[AgentReport], at: float) -> None:
        if reports:
            self._notes.facts["report"] = reports[-1]
        if any(report.state == AgentState.RUNNING for report in reports):
            self._notes.first("ready_after", at=at)

    def _note_events(self, events: list[dict[str, Any]], at: float) -> None:
        facts = self._notes.facts
        if {"event": POLLED} in events and not (facts["has_health_check"] or facts.get("report")):
            self._notes.first("ready_after", at=at)
        for event in events:
            if event["event"] == ANSWERED and event.get("text"):
                self._notes.first("answered_after", at=at)
                facts["answer"] = str(event["text"])

    def _end(self, grace: int) -> None:
        if "exit_code" in self._notes.facts:
            return
        self._notes.facts["users"] = self._find_users()
        began = time.monotonic()
        with self._connection.call(grace + 10, about_one=True) as client:
            client.stop(self._agent, timeout=grace)
        self._notes.facts["stopped_within"] = round(time.monotonic() - began, 2)
        with self._connection.call(about_one=True) as client, understand_answer():
            self._notes.facts["stop_code"] = int(client.inspect_container(self._agent)["State"]["ExitCode"])

    def _find_users(self) -> frozenset[int]:
        """Returns the users of the agent's processes, or none if the engine cannot say: its host may lack `ps`."""
        try:
            with self._connection.call(about_one=True) as client, understand_answer():
                answer = client.top(self._agent, ps_args="-eo pid,uid")
                return frozenset(int(row[answer["Titles"].index("UID")]) for row in answer["Processes"])
        except (EngineError, ValueError):
            return frozenset()

    def _events(self, servers: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in read_end(self._connection, servers) if line.startswith('{"event":')]
