"""What Berth asks of a container engine.

Every verb may be repeated: `stop` and `remove` succeed where the container is missing, and `deploy` adopts the
container that an earlier call made. An engine never guesses: it raises `EngineUnavailableError` for what it does not
know.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from containers.engine.events import TellsEvents
from containers.engine.gateway import RunsGateway
from containers.engine.images import HostFacts, KnowsImages
from containers.engine.lists import Ahead, ListsContainers
from containers.engine.names import LimitsNames
from containers.engine.reports import ReportStreams
from containers.engine.states import KeepsStates
from containers.engine.trials import TriesImages
from containers.vocabulary import ContainerSpec, DiskUse, Observation, Usage, Volume


class Engine(ListsContainers, KeepsStates, RunsGateway, LimitsNames, KnowsImages, TriesImages, TellsEvents, Protocol):
    """An engine that runs containers. No verb raises anything but `EngineError`.

    `key` is the value of `PROJECT_LABEL`, by which a container is found under any name; where several carry it,
    verbs act on all of them, and the one with the highest rank is what is told. `within` selects the containers or
    volumes that carry all of these labels. Those of other installations are never selected and never changed
    (`containers.identity`). Every verb has a time limit of its own: none waits longer for an engine that does not
    answer.
    """

    def ping(self) -> None:
        """Returns once the engine has answered. Raises `EngineUnavailableError` where it does not."""

    def read_deadline(self) -> AbstractContextManager[None]:
        """A context in which all calls of this thread together get two seconds.

        For reads, which would rather report `unknown` than wait. They count for the breaker of reads only, so that
        commands still go through while reads time out.
        """

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        """A context in which all calls of this thread together get `seconds` seconds, each its own limit at most.

        For commands that somebody waits for. A call after the deadline raises `EngineUnavailableError`.
        """

    def ensure_firewall(self) -> str | None:
        """Makes the agents' network and installs the egress rules around it, which agents cannot get past.

        Returns None, or a sentence for the operator that says why the rules could not be installed, or do not hold.
        Rules that were installed before stay as they are in that case. Costs little where they hold. Also sees to it
        that the engine itself starts agents again only where their network is closed until the rules are there
        (`containers.firewall.boot`).
        """

    def requires_firewall(self) -> bool:
        """Whether no agent may run without the rules (`BERTH_FIREWALL`)."""

    def probe_firewall(self) -> str | None:
        """Sends packets to forbidden addresses from a container on the agents' network, which takes some seconds.

        Returns None where they were refused or could not be sent, or a sentence for the operator that they were not.
        """

    def started_at(self) -> datetime | None:
        """When the engine was started, or None where it does not say.

        Containers that ended before that have been ended by it, or with the machine, and not by themselves.
        """

    def describe_host(self) -> HostFacts:
        """What the machine is that runs the containers."""

    def deploy(
        self,
        spec: ContainerSpec,
        *,
        confirm: Callable[[], bool],
        retire: Callable[[Observation], None] = lambda _: None,
        begin_anew: Callable[[], None] = lambda: None,
        seen: Observation | None = None,
    ) -> Observation:
        """Makes and starts the container of this spec and generation, and returns it as it is then.

        - No container of the key: creates it, delivers the secrets, calls `confirm`, starts it.
        - The same generation: adopts it, and starts it after `confirm` where it is not up.
        - An older generation: stops it within its stop timeout, calls `retire` with what it was before that, while
          its log can still be read, and replaces it. Its `/data` volume stays, and is handed to the user of the spec
          where it was another's.
        - A newer generation: raises `SupersededError`.
        - One that was made before there were ids counts like the others. Its `/data` volume stays in use.
        - A container of the name or the key that is not ours: raises `NameTakenError`.
        - No state of the key: calls `begin_anew`, maybe more than once, where it can tell, and makes an empty one. The
          container is started after that.

        `seen` is what `inspect` has just told of the key, so that nobody asks for it again. Where it is so no more, the
        engine is asked.

        No container is started before the rules have been installed since the engine was started. Where they have to be
        (`BERTH_FIREWALL`) and cannot be, raises `FirewallMissingError`.

        Where `confirm` returns false, raises `SupersededError`. After that and after any refusal, no container is left
        that a deploy of this generation made and never started. A volume stays that a newer one made or may have used.
        """

    def stop(self, key: str, *, timeout: int, ahead: Ahead | None = None, for_good: bool = False) -> Observation | None:
        """Stops the container: SIGTERM, and SIGKILL after `timeout` seconds. Returns once no process of it runs.

        It tells as what the container has ended, without a report of the agent's; None where it did not end here and
        now, or was not the only one: then `inspect` tells how it is.

        `ahead` is what `look_ahead` has returned, where nobody can have made a container of this key since.

        `for_good`: what it remembers goes next. Then a machine that the engine itself has given up is not waited for.

        Where the `deadline` of the caller is over sooner, raises `StillStoppingError`, and the engine goes on.
        Does nothing where the container is missing, is not ours or has already stopped.
        """

    def remove(self, key: str, *, volumes: bool = False) -> None:
        """Removes the container, running or not; with `volumes` also the volumes of its state and its secrets.

        Does nothing where it is missing, and leaves alone what is not ours.
        """

    def inspect(self, key: str, *, briefly: bool = False) -> Observation | None:
        """The container with every field exact, or None where the engine answered that we have none of this key.

        `briefly`: of one that is not up, without what it has reported last, which takes a call less. Raises
        `ContainerSilentError` where the engine answers for others, and not for this one.
        """

    def realign(self, key: str) -> list[str]:
        """Gives the containers of this key back the network, restart policy and limits with which Berth makes them.

        They leave every other network. Running ones go on. Returns in words what was otherwise. Does nothing where
        there is none. Raises `AlteredError` where only a container that is made anew is as it should be.
        """

    def quarantine(self, key: str, *, timeout: int, retire: Callable[[Observation], None] = lambda _: None) -> None:
        """Stops the containers that carry this installation's id and this key, and removes their credentials.

        Calls `retire` with each container that has ever run, as it was before that, while its log and its credentials
        can still be read.
        The state stays: a container that cannot start by itself, has no network and carries `QUARANTINE_LABEL` holds on
        to it. What is in quarantine already stays as it is.
        """

    def highest_user(self, *, block: Collection[int] = ()) -> int | None:
        """The highest number of a user as whom a container of this installation runs, or whose the state is that one in
        quarantine or a volume holds; None where there is none. Of other installations those of the block count, too.

        It belongs to something that exists, whether or not the caller knows that, and so to nobody else.
        """

    def list_volumes(self, within: Mapping[str, str]) -> list[Volume]:
        """Every volume of this installation with these labels. It may have outlived its container."""

    def logs(
        self, key: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False, of: str = ""
    ) -> Iterator[bytes]:
        """The lines of output, each with its RFC 3339 time in front; none where there is no such container.

        `of` is the id of one of the key, which then need not be looked for.
        `tail` limits them to the last lines, `since` to those from that moment on. With `follow` the iterator goes on
        until the container ends or the iterator is closed, and yields an empty line after at most 3 seconds without
        output: only then a follower can be told that its token has ended.
        """

    def read_secrets(self, key: str) -> list[str]:
        """The credentials that were delivered to the container of this key; none where there is no such container.

        Only to take them out of what the agent has printed, where nobody else knows them any more. Raises
        `EngineRefusedError` where there is more than credentials can be.
        """

    def stats(self, key: str) -> Usage | None:
        """What the container uses now, or None where it does not run."""

    def usage_of(self, container_id: str, *, started_at: datetime | None) -> Usage | None:
        """As `stats`, of the container with this id, which was started then: one call. None where there is none."""

    def measure_disks(self, keys: Mapping[str, int], *, images: Collection[str]) -> Iterator[tuple[str, DiskUse]]:
        """What the state of each of these keys takes, one after the other as it becomes known.

        `keys` says of each at how many files nobody counts on: then the size is not measured either. One without a
        state takes nothing. Of what cannot be counted within a minute, a part is (`DiskUse.is_part`), or it is left out
        where not even that is known; it delays no other for longer.
        `images` are some that may be used for it, where there is none of Berth's own. Agents go on meanwhile, and
        `remove` does not wait for it. Raises `EngineRefusedError` where the engine has no image for it.
        """

    def report_streams(self) -> ReportStreams:
        """What hears of many agents at once that they print a report. The caller closes it."""
