"""The protocol that every container engine implements.

Every method may be called again: `stop` and `remove` succeed if the container is missing, and `deploy` adopts the
container that an earlier call created. An engine never guesses: it raises `EngineUnavailableError` if it does not know.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from containers.engine.events import ReportsEvents
from containers.engine.gateway import RunsGateway
from containers.engine.images import HostFacts, KnowsImages
from containers.engine.lists import ListsContainers, Prefetch
from containers.engine.names import LimitsNames
from containers.engine.reports import ReportStreams
from containers.engine.states import KeepsStates
from containers.engine.trials import TriesImages
from containers.engine.users import CountsUsers
from containers.vocabulary import ContainerSpec, DiskUse, Observation, Usage, Volume


class Engine(
    ListsContainers, KeepsStates, RunsGateway, LimitsNames, KnowsImages, TriesImages, ReportsEvents, CountsUsers,
    Protocol,
):  # fmt: skip
    """An engine that runs containers. Its methods raise only `EngineError` and its subclasses.

    `key` is the value of `PROJECT_LABEL`, by which a container is found under any name. If several containers carry the
    same key, methods act on all of them and return the one with the highest rank. `within` selects the containers or
    volumes that carry all of these labels. Containers and volumes of other installations are never selected and never
    changed (`containers.identity`). Every method has its own time limit for an engine that does not answer.
    """

    def ping(self) -> None:
        """Returns once the engine has answered. Raises `EngineUnavailableError` if it does not."""

    def read_deadline(self) -> AbstractContextManager[None]:
        """Returns a context in which all calls of this thread together get two seconds.

        It is for reads, which prefer to report `unknown` rather than wait. Their failures count only for the circuit
        breaker of reads, so that commands still go through while reads time out.
        """

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        """Returns a context in which all calls of this thread together get `seconds` seconds.

        Each call still keeps its own limit. It is for commands whose caller waits for the result. A call after the
        deadline raises `EngineUnavailableError`.
        """

    def ensure_firewall(self) -> str | None:
        """Creates the agents' network and installs the egress rules around it, which agents cannot bypass.

        Returns None, or a sentence for the operator that says why the rules could not be installed or have no effect.
        In that case, rules that were installed earlier stay as they are. The call is cheap if the rules are in force.
        It also ensures that the engine restarts agents by itself only if their network stays closed until the rules are
        installed (`containers.firewall.boot`).
        """

    def requires_firewall(self) -> bool:
        """Returns whether agents must not run without the egress rules (`BERTH_FIREWALL`)."""

    def probe_firewall(self) -> str | None:
        """Sends packets to forbidden addresses from a container on the agents' network, which takes some seconds.

        Returns None if they were refused or could not be sent. Returns a sentence for the operator if they got through.
        """

    def started_at(self) -> datetime | None:
        """Returns when the engine was started, or None if it does not say. It may also be a later moment since which it
        has surely run.

        Containers that ended before then were ended by the engine or with the machine, not by themselves.
        """

    def describe_host(self) -> HostFacts:
        """Returns the facts about the machine that runs the containers."""

    def deploy(
        self,
        spec: ContainerSpec,
        *,
        confirm: Callable[[], bool],
        retire: Callable[[Observation], None] = lambda _: None,
        on_missing_state: Callable[[], None] = lambda: None,
        seen: Observation | None = None,
    ) -> Observation:
        """Creates and starts the container of this spec and generation, and returns its state afterwards.

        - No container with this key: creates it, delivers the secrets, calls `confirm`, starts it.
        - The same generation: adopts it. If it is not up, calls `confirm` and starts it.
        - An older generation: stops it within its stop timeout, calls `retire` with its state before the stop while its
          log can still be read, and replaces it. Its `/data` volume stays; if it belongs to another user, it is handed
          over to the user of the spec.
        - A newer generation: raises `SupersededError`.
        - A container from before there were installation ids: treated like the others. Its `/data` volume stays in use.
        - A container that has the name or the key but is not ours: raises `NameTakenError`.
        - No state for this key: calls `on_missing_state`, possibly more than once, if the engine can tell, and creates
          an empty state. The container is started after that.

        `seen` is what `inspect` has just returned for the key, and saves asking again. If it is out of date, the engine
        is asked.

        No container is started until the egress rules have been installed since the engine was started. If they are
        required (`BERTH_FIREWALL`) and cannot be installed, raises `FirewallMissingError`.

        If `confirm` returns false, raises `SupersededError`. After that and after any refusal, no container remains
        that this generation created and never started. A volume stays if a newer deploy created it or may have used it.
        """

    def stop(self, key: str, *, timeout: int, prefetch: Prefetch = list, for_good: bool = False) -> Observation | None:
        """Stops the container: SIGTERM, and SIGKILL after `timeout` seconds. Returns once none of its processes runs.

        Returns the container's final state, without the agent's report. Returns None if it had already ended or was one
        of several; call `inspect` then.

        `prefetch` is the result of that method. Pass it only if no container with this key can have been created since.

        `for_good` means that the caller removes the agent's state next. Then the call does not wait for a machine that
        the engine itself has given up.

        If the caller's `deadline` ends first, raises `StillStoppingError`, and the engine continues to stop it. Does
        nothing if the container is missing, is not ours or has already stopped.
        """

    def remove(self, key: str, *, volumes: bool = False) -> None:
        """Removes the container, running or not; with `volumes` also the volumes of its state and its secrets.

        Does nothing if it is missing, and leaves containers and volumes that are not ours alone.
        """

    def inspect(self, key: str, *, briefly: bool = False, of: str = "") -> Observation | None:
        """Returns the container with every field exact, or None if the engine answered that there is none for this key.

        `briefly` leaves out the last report of a container that is not up, and `of`, the id of the only container with
        this key if the caller knows it, the look-up: each can save a call. Raises `ContainerSilentError` if the engine
        answers for other containers but not for this one.
        """

    def realign(self, key: str) -> list[str]:
        """Restores the network, restart policy and limits that Berth gave to the containers of this key.

        They leave every other network, and running ones keep running. If only one runs, the others are removed. Does
        nothing if there is none. Returns the differences in words. Raises `AlteredError` if only a new one helps.
        """

    def quarantine(self, key: str, *, timeout: int, retire: Callable[[Observation], None] = lambda _: None) -> None:
        """Stops the containers that carry this installation's id and this key, and removes their credentials.

        Calls `retire` with each container that has ever run, in its state before the stop, while its log and its
        credentials can still be read. The agent's state stays: a container that cannot start, has no network and
        carries `QUARANTINE_LABEL` keeps the volume in use. Containers already in quarantine stay as they are.
        """

    def list_volumes(self, within: Mapping[str, str]) -> list[Volume]:
        """Returns every volume of this installation with these labels. A volume may have outlived its container."""

    def logs(
        self, key: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False, of: str = ""
    ) -> Iterator[bytes]:
        """Yields the lines of output, each with its RFC 3339 time in front, or nothing if there is no such container.

        `of` is the id of a container with this key, if the caller knows it, and saves the look-up.
        `tail` limits the output to the last lines, `since` to the lines from that moment on. With `follow` the iterator
        continues until the container ends or the iterator is closed, and yields an empty line after at most 3 seconds
        without output, so that a follower can be notified that its token has expired.
        """

    def read_secrets(self, key: str) -> list[str]:
        """Returns the credentials that were delivered to the container of this key, or none if there is no container.

        Use it only to remove them from the agent's output when Berth itself no longer knows them. Raises
        `EngineRefusedError` if the files are larger than credentials can be.
        """

    def stats(self, key: str) -> Usage | None:
        """Returns the container's current usage, or None if it does not run."""

    def usage_of(self, container_id: str, *, started_at: datetime | None) -> Usage | None:
        """Does the same as `stats` in one call, for the container with this id that was started at `started_at`.

        Returns None if there is none.
        """

    def measure_disks(self, keys: Mapping[str, int], *, images: Collection[str]) -> Iterator[tuple[str, DiskUse]]:
        """Yields the disk use of the state of each of these keys, one at a time as it becomes known.

        The values of `keys` are the numbers of files at which counting stops; the size is not measured then either. A
        key without a state uses nothing. If a state cannot be counted within a minute, a part is reported
        (`DiskUse.is_part`), or the key is left out if not even a part is known; it delays the others for no longer.
        `images` are images that may be used for measuring if there is none of Berth's own. Agents keep running
        meanwhile, and `remove` does not wait. Raises `EngineRefusedError` if the engine has no image for measuring.
        """

    def report_streams(self) -> ReportStreams:
        """Returns an object that notices when any of many agents prints a report. The caller closes it."""
