"""Moves the agents of one Docker host to the engine of this process, a Swarm, one after the other.

Each step asks both engines what they have, so that an interrupted move continues. An agent is moved once the Swarm has
a service for it: from then on, the memory on the former host is outdated. An agent that should not run has no service;
an event says that it was copied. Between the first move and the last, the Swarm starts no agent that is not moved.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field

from django.conf import settings

from accounts import clock
from containers.agent_contract import AGENT_USER
from containers.docker_api.client import Connection
from containers.engine import Engine
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.get_engine import get_engine, get_single_host
from containers.hardening import DATA, data_volume
from containers.identity import container_name
from containers.swarm.notes.awaited_states import AwaitedStates
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, Observation, Volume
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import ProjectError, UnusableSettingsError
from projects.models import Project
from projects.rules.status.lifecycle import Action
from projects.services.commands.control import control_project
from projects.services.container_spec import check_spec, labels_of
from projects.services.staff.past_migrations import MOVE, OPERATOR, Past, read_past

STILL_UP = "The agent of {} still runs on the former host. Nothing was started anywhere else."
WRONG_HOST = "The former host has nothing of this installation: --from names another one, or BERTH_INSTANCE does."
ONE_ENGINE = "The former host is the manager that DOCKER_HOST names. Join it to the Swarm once its agents have moved."
BY_DRIVER = "BERTH_SWARM_VOLUME_DRIVER is set: Berth brings memories to the manager's own disk only."

Alive = Callable[[], None]
"""Called repeatedly during a long step; raises if the step must end."""


class NotStartedError(Exception):
    """The agent was copied, but its start was refused: it runs nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One agent and what both engines have of it."""

    project: Project
    former: Observation | None
    there: Observation | None
    past: Past = field(default_factory=Past)
    has_volume: bool = False

    @property
    def is_to_run(self) -> bool:
        return self.past.lets_run(self.project)

    @property
    def is_done(self) -> bool:
        is_left = self.former is not None and self.former.is_up
        if not (is_left or self.is_to_run) and self.past.counts(self.former, is_there=self.has_volume):
            return True
        return self.there is not None and not is_left and (self.there.is_up or not self.is_to_run)


class Migration:
    """A migration from the single Docker host at `host`."""

    def __init__(self, host: str) -> None:
        self._former: Engine = get_single_host(host)
        self._swarm = get_engine()
        self._arrivals = AwaitedStates(Connection())

    def plan(self) -> list[Move]:
        """Returns the moves of all agents that are not being deleted, the oldest first. Raises `EngineError`."""
        former, there = _seen(self._former), _seen(self._swarm)
        rows = Project.objects.live().filter(instance=settings.BERTH_INSTANCE).order_by("created_at", "pk")
        found = list(rows.select_related("agent_type", "plan", "owner"))
        past, volumes = read_past(row.pk for row in found), {volume.key for volume in _volumes(self._swarm)}
        return [
            Move(
                project=row,
                former=former.get(row.container_key),
                there=there.get(row.container_key),
                past=past[row.pk],
                has_volume=row.container_key in volumes,
            )
            for row in found
        ]

    def expect(self, moves: Iterable[Move]) -> None:
        """Keeps the Swarm from starting agents until each has been moved. Raises `EngineError`.

        Otherwise a Berth that is started too early would start them without memory while they run on the former host.
        """
        self._arrivals.expect(move.project.container_key for move in moves if move.there is None)

    def obstacles(self, moves: Iterable[Move]) -> Iterator[str]:
        """Yields what would keep agents from running on the Swarm. Changes nothing. Raises `EngineError`."""
        self._swarm.ping()
        self._former.ping()
        here, there = ({_identity(each) for each in _volumes(engine)} for engine in (self._former, self._swarm))
        if not here:
            yield WRONG_HOST
        if here & there:
            yield ONE_ENGINE
        if settings.BERTH_SWARM_VOLUME_DRIVER:
            yield BY_DRIVER
        for move in moves:
            if not move.is_done and (obstacle := self._obstacle(move.project)):
                yield f"{move.project.container_key}: {obstacle}"

    def _obstacle(self, project: Project) -> str:
        for image in (project.agent_type.image, project.image_id):
            if image and not self._swarm.image_exists(image):
                return f"the Swarm's manager does not have its image, {image}."
        if project.uid in {None, AGENT_USER}:
            return "it has the user that all agents once had. Restart it on the former host first."
        if project.operation_deadline is not None and project.operation_deadline > clock.now():
            return "a command is under way. Try again in a minute."
        try:
            check_spec(project)
        except (SecretUnreadableError, UnusableSettingsError) as error:
            return str(error)
        return ""

    def carry_out(self, project: Project, *, alive: Alive) -> None:
        """Stops, copies and starts one agent. It may be called again after any interruption.

        Raises `EngineError` and `ProjectError`; then the agent may run nowhere, but never twice. Raises
        `NotStartedError` if it was copied and only its start was refused.
        """
        alive()
        self._put_to_rest(project)
        alive()
        if self._swarm.inspect(project.container_key) is None:
            self._bring_memory(project, alive)
        alive()
        project.refresh_from_db()
        if read_past([project.pk])[project.pk].lets_run(project):
            _start(project)

    def _put_to_rest(self, project: Project) -> None:
        """Stops the agent on the former host, so that its engine does not start it again by itself."""
        key = project.container_key
        self._former.stop(key, timeout=project.agent_type.stop_timeout)
        seen = self._former.inspect(key)
        if seen is not None and (seen.is_up or seen.is_silent):
            raise EngineRefusedError(STILL_UP.format(key))

    def _bring_memory(self, project: Project, alive: Alive) -> None:
        """Copies the whole memory from the beginning, because an interrupted move may have left a part."""
        key, image = project.container_key, project.agent_type.image
        self._swarm.remove(key, volumes=True)
        former = next(iter(_volumes(self._former, key)), None)
        if former is None:  # it has never been started
            self._arrivals.settle(key)
            return
        with closing(_watched(self._former.read_state(key, image=image), alive)) as pieces:
            self._swarm.write_state(
                key,
                volume=data_volume(container_name(key)),
                labels={**former.labels, **labels_of(project)},
                image=image,
                pieces=pieces,
            )
        project.event(OPERATOR, MOVE, "done").save()


def _start(project: Project) -> None:
    try:
        control_project(project=project, action=Action.RESTART, actor=OPERATOR)
    except EngineUnavailableError:
        raise  # the others could not be started either
    except (EngineError, ProjectError) as error:
        raise NotStartedError(str(error)) from error


def _watched(pieces: Iterator[bytes], alive: Alive) -> Generator[bytes]:
    for piece in pieces:
        alive()
        yield piece


def _seen(engine: Engine) -> Mapping[str, Observation]:
    return {seen.key: seen for seen in engine.observe({INSTANCE_LABEL: settings.BERTH_INSTANCE})}


def _volumes(engine: Engine, key: str = "") -> list[Volume]:
    """Returns the volumes of agents' memories."""
    within = {INSTANCE_LABEL: settings.BERTH_INSTANCE, **({PROJECT_LABEL: key} if key else {})}
    return [volume for volume in engine.list_volumes(within) if volume.name.endswith(DATA)]


def _identity(volume: Volume) -> tuple[str, object]:
    """Identifies a volume: two engines never create one with the same name at the same moment; a copy is younger."""
    return volume.name, volume.created_at
