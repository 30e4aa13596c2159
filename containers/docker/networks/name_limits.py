"""Limits how often each running agent can ask Docker's own name server.

Docker creates an agent's network namespace, and the name server in it, again at each start.
"""

import time
from collections.abc import Iterable
from typing import Any

from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, is_timeout, understand_answer
from containers.errors import EngineUnavailableError
from containers.firewall.query_limits import Namespace, find_namespace, find_obstacle, limit_questions
from containers.identity import is_ours
from containers.outbound.call_limits import time_limit
from containers.programs import ProgramError
from containers.vocabulary import PROJECT_LABEL

ALL_WITHIN = 30.0
"""Seconds for one round. The next round does the rest."""

AGAIN_AFTER = 60.0
"""Seconds after a failure until it is tried again for the same agent."""

_ONE_WITHIN = 2.0

UNBOUND = (
    "Agents can ask the engine's own name server as often as they like, which costs the engine up to an agent's share "
    "of the processors: {} Run Berth as root on the engine's host, with nsenter and iptables."
)
_ELSEWHERE = "the agents' network namespaces are not on this host."


class NameLimits:
    """Remembers in which namespaces this process has set the rules. Used by one thread at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._done: dict[str, Namespace] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    def set_for(self, containers: Iterable[str]) -> str | None:
        """Sets the limit for the containers with these ids. Returns None, or a sentence that says why some lack it."""
        reason = find_obstacle() or self._set_each(containers)
        return UNBOUND.format(reason) if reason else None

    def _set_each(self, containers: Iterable[str]) -> str | None:
        now, reasons = time.monotonic(), []
        self._done = {each: where for each, where in self._done.items() if find_namespace(where.path) == where}
        self._failed = {each: what for each, what in self._failed.items() if what[0] > now}
        for container_id in containers:
            if container_id in self._done or time.monotonic() >= now + ALL_WITHIN:
                continue
            if container_id not in self._failed and (reason := self._set_one(container_id)):
                self._failed[container_id] = time.monotonic() + AGAIN_AFTER, reason
            if container_id in self._failed:
                reasons.append(self._failed[container_id][1])
        return reasons[0] if reasons else None

    def _set_one(self, container_id: str) -> str | None:
        path = self._find_path(container_id)
        namespace = find_namespace(path)
        try:
            if namespace is not None:
                limit_questions(namespace)
                self._done[container_id] = namespace
                return None
            reason = _ELSEWHERE
        except ProgramError as error:
            reason = str(error)
        # A container that has just ended has no namespace. Its next start gets another one.
        is_the_same = bool(path) and find_namespace(path) == namespace and self._find_path(container_id) == path
        return reason if is_the_same else None

    def _find_path(self, container_id: str) -> str:
        """Returns the file of a running agent's namespace, or "" for other containers or if the engine does not say."""
        try:
            with time_limit(_ONE_WITHIN), self._connection.call(about_one=True) as client:
                answer: dict[str, Any] = client.inspect_container(container_id)
        except MissingError:
            return ""
        except EngineUnavailableError as error:
            if not is_timeout(error.__cause__ or error):
                raise
            return ""
        with understand_answer():
            labels = answer["Config"]["Labels"] or {}
            is_meant = is_ours(labels) and labels.get(PROJECT_LABEL) and answer["State"]["Running"] is True
            return str(answer["NetworkSettings"].get("SandboxKey") or "") if is_meant else ""
