"""The client of the Docker engine: docker-py's low-level client on bounded connections, behind a circuit breaker."""

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from typing import IO, Any

import docker
import docker.errors
import docker.utils
import requests
from django.conf import settings

from containers.docker_api.api_version import OLDEST_API
from containers.docker_api.certificates import read_environment
from containers.docker_api.circuit_breaker import CircuitBreaker
from containers.docker_api.errors import GARBLED, SLOW, EmptyAnswerError, raise_for_status, translate_errors
from containers.docker_api.failed_calls import note_failure
from containers.docker_api.read_limits import this_thread
from containers.docker_api.swarm_calls import SwarmCalls
from containers.docker_api.transport import BoundedAdapter
from containers.errors import EngineError, EngineUnavailableError
from containers.identity import NO_LABELS
from containers.outbound.call_limits import seconds_left, size_limit, time_limit
from containers.outbound.foreign_json import read_json

CALL_LIMIT = 10.0
"""Seconds for one call. docker-py adds the timeout of a stop by itself."""

READ_DEADLINE = 2.0
"""Seconds that all engine calls of one read may take in total."""

FAIR_TIME = 2.0
"""A timeout counts against the engine only if the call had this many seconds. A read needs half of its deadline."""

ANSWER_SIZE = 8 * 1024 * 1024
"""Bytes that one call may receive, enough for a list of several thousand containers."""


class DockerClient(SwarmCalls):
    """docker-py's low-level client with bounded calls. Its constructor asks the engine for its API version."""

    def __init__(self, host: str = "") -> None:
        environment = {"base_url": host} if host else read_environment()
        # A fixed version keeps docker-py's constructor from calling the engine before the adapter below is in place.
        base, tls = environment.get("base_url"), environment.get("tls", False)
        super().__init__(base_url=base, tls=tls, version=OLDEST_API, timeout=CALL_LIMIT)
        self.trust_env = False
        self.headers.update({"Accept-Encoding": "identity", "User-Agent": f"Berth/{settings.BERTH_VERSION}"})
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        address: Any = docker.utils.parse_host(environment.get("base_url"), tls=bool(environment.get("tls")))
        scheme = address.partition("://")[0]
        if scheme in {"http+unix", "http", "https"}:
            self._bounded = BoundedAdapter(address, size=settings.BERTH_THREADS + 4, verify=bool(self.verify))
            self.mount("http+docker://" if scheme == "http+unix" else f"{scheme}://", self._bounded)
            self._asks_shortly = scheme != "https"
        self._version = self._retrieve_server_version()

    def get_redirect_target(self, response: requests.Response) -> None:
        """No engine redirects, and requests would follow to any host."""

    def open_socket(self) -> socket.socket:
        """Returns a connection to the engine that the caller owns."""
        return self._bounded.open_socket()

    def open_stream(self, path: str, *names: str, params: dict[str, Any], silence: float) -> requests.Response:
        """Returns an answer to read piece by piece. A read raises if no piece arrives for `silence` seconds."""
        response: requests.Response = self._get(
            self._url(path, *names), params=params, stream=True, timeout=(CALL_LIMIT, silence)
        )
        self._raise_for_status(response)
        return response

    def put_pieces(self, container: str, path: str, pieces: Iterable[bytes], *, silence: float) -> None:
        """Unpacks a tar archive, which is sent piece by piece, to this path of a container."""
        response: requests.Response = self._put(
            self._url("/containers/{0}/archive", container),
            params={"path": path},
            data=iter(pieces),
            headers={"Content-Type": "application/x-tar"},
            timeout=(CALL_LIMIT, silence),
        )
        self._raise_for_status(response)
        response.close()

    def open_pull(self, repository: str, tag: str, *, silence: float) -> requests.Response:
        """Returns the answer of a pull, which ends when the engine has the image or gives up. Not for web requests."""
        response: requests.Response = self._post(
            self._url("/images/create"),
            params={"fromImage": repository, "tag": tag},
            stream=True,
            timeout=(CALL_LIMIT, silence),
        )
        self._raise_for_status(response)
        return response

    def import_root(self, archive: IO[bytes], repository: str, tag: str, *, changes: list[str], silence: float) -> None:
        """Creates an image from a root file system. docker-py's own method fails for files without a path."""
        response: requests.Response = self._post(
            self._url("/images/create"),
            params={"fromSrc": "-", "repo": repository, "tag": tag, "changes": changes},
            data=archive,
            headers={"Content-Type": "application/tar"},
            timeout=(CALL_LIMIT, silence),
        )
        self._raise_for_status(response)

    def create_container_from_config(self, config: dict[str, Any], name: str | None = None, **given: Any) -> Any:
        """Creates the container with no labels of Berth's but those in `config`, no matter what its image says."""
        labels = {**NO_LABELS, **(config.get("Labels") or {})}
        return super().create_container_from_config({**config, "Labels": labels}, name, **given)

    def create_network_from(self, payload: dict[str, Any]) -> None:
        self._raise_for_status(self._post_json(self._url("/networks/create"), data=payload))

    def _raise_for_status(self, response: requests.Response) -> None:
        raise_for_status(response)

    def _result(self, response: requests.Response, json: bool = False, binary: bool = False) -> Any:  # noqa: FBT001, FBT002 - docker-py's signature
        self._raise_for_status(response)
        body = response.content
        if json and not body:
            raise EmptyAnswerError(GARBLED)
        if json:
            return read_json(body)
        return body if binary else body.decode(errors="replace")


class _ProcessState:
    """The state of each process: two circuit breakers and, from the first call on, a client.

    Reads have their own breaker, because an engine that is too slow for them may be fast enough for a command.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self.breaker = CircuitBreaker()
        self.read_breaker = CircuitBreaker()
        self._client: DockerClient | None = None

    def get_client(self) -> DockerClient:
        """Uses no lock, because none is safe after a fork. If two threads each create a client, the later one stays."""
        if self._client is None:
            self._client = DockerClient(self._host)
        return self._client


class Connection:
    """Every call to the engine (`host`, or else DOCKER_HOST) goes through `call`. Safe for threads and after a fork."""

    def __init__(self, host: str = "") -> None:
        self._host = host
        self._states: dict[int, _ProcessState] = {}

    @contextmanager
    def read_deadline(self) -> Iterator[None]:
        """Gives all calls of this thread inside the block `READ_DEADLINE` seconds in total."""
        this_thread.is_reading = True
        try:
            with time_limit(READ_DEADLINE):
                yield
        finally:
            this_thread.is_reading = False

    @contextmanager
    def call(
        self,
        seconds: float | None = None,
        *,
        size: int = ANSWER_SIZE,
        may_time_out: bool = False,
        about_one: bool = False,
    ) -> Iterator[DockerClient]:
        """Returns the client for at most `seconds` (default `CALL_LIMIT`) and `size` bytes. Raises only `EngineError`.

        A timeout does not count as a failure of the engine with `may_time_out`, because the answer cannot come sooner,
        and if the caller had hardly any time left. With `about_one`, only an engine that cannot be reached counts: it
        may be stuck at this one container, or end the answer when the container ends, and answer for all others.
        """
        left = seconds_left()
        if left is not None and left <= 0:
            raise EngineUnavailableError(SLOW)
        is_reading = this_thread.is_reading
        state = self._states.setdefault(os.getpid(), _ProcessState(self._host))
        breaker = state.read_breaker if is_reading else state.breaker
        began = breaker.admit(is_waited_for=left is not None)
        limit = CALL_LIMIT if seconds is None else seconds
        is_cut_short = left is not None and left < min(limit, READ_DEADLINE / 2 if is_reading else FAIR_TIME)
        try:
            with translate_errors(), time_limit(limit), size_limit(size):
                yield state.get_client()
        except EngineError as error:
            told = {"is_cut_short": is_cut_short, "may_time_out": may_time_out, "about_one": about_one}
            note_failure(breaker, error, began, get_client=None if is_reading else state.get_client, **told)
            raise
        else:
            breaker.note_answer()
