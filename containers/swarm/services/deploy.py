"""Deploys an agent on a Swarm: creates a service without a task, confirms, starts a task and waits for it."""

import time
from collections.abc import Callable
from contextlib import suppress

from containers.docker_api.errors import ConflictError, MissingError
from containers.errors import (
    ContainerSilentError,
    EngineError,
    EngineRefusedError,
    NameTakenError,
    NoRoomError,
    SupersededError,
)
from containers.identity import carries, is_ours
from containers.outbound.call_limits import seconds_left, time_limit
from containers.swarm.services.secrets import Secrets
from containers.swarm.services.services import Services
from containers.swarm.services.verbs import SILENT, Verbs
from containers.swarm.tasks.task_errors import has_run, lacks_room, refusal_of
from containers.swarm.tasks.tasks import BY_THEMSELVES, Run, Service, observe
from containers.vocabulary import QUARANTINE_LABEL, ContainerSpec, ContainerState, Observation

DEPLOY_LIMIT = 20.0
"""Seconds for a deploy, counted from the moment at which an older service is gone."""

UNDO_LIMIT = 10.0
TRIES = 2
"""Failed tasks after which a deploy is refused. A Swarm creates another one after each, possibly on another node."""

LOOK = 1.5
"""Seconds that are reserved for a last look at the progress."""

_ASK_EVERY = 0.1
_PAUSES = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)


class Deployment:
    """One call of `deploy`. `make` creates the service with these secrets."""

    def __init__(
        self,
        services: Services,
        secrets: Secrets,
        verbs: Verbs,
        spec: ContainerSpec,
        make: Callable[[dict[str, str]], str],
        retire: Callable[[Observation], None],
        lost: Callable[[], frozenset[str]],
    ) -> None:
        self._services = services
        self._secrets = secrets
        self._verbs = verbs
        self._spec = spec
        self._make = make
        self._retire = retire
        self._lost = lost
        self._is_ours_to_undo = False
        self._is_new = False
        self._cannot_start = False

    def run(self, confirm: Callable[[], bool]) -> Observation:
        try:
            kept = self._make_room()
            with time_limit(DEPLOY_LIMIT):
                service = kept or self._create()
                if self._observe(service).state is not ContainerState.RUNNING:
                    service = self._bring_up(service, confirm)
                seen = self._observe(service)
                if seen.is_silent:
                    raise ContainerSilentError(SILENT)
                return seen
        except EngineError:
            self._undo()
            raise

    def _observe(self, service: Service) -> Observation:
        return observe(service, lost=self._lost())

    def _make_room(self) -> Service | None:
        """Stops and removes the services of older deploys. Returns this deploy's service, or None."""
        kept: Service | None = None
        for service in self._there():
            if kept is None and not self._must_go(service):
                kept = service
                continue
            self._verbs.stop(service, timeout=self._spec.stop_timeout, leave_lost=True)
            ended = self._services.look_up(service.service_id)
            if ended is not None:
                self._retire_one(ended)
            self._services.remove(ended or service)
        self._verbs.await_removed(self._spec.key)
        self._secrets.remove(self._spec.key, before=self._spec.generation)
        return kept

    def _retire_one(self, ended: Service) -> None:
        seen = self._observe(ended)
        if seen.state is not ContainerState.CREATED and not seen.is_silent:
            self._retire(seen)

    def _there(self) -> list[Service]:
        found = self._services.of_key(self._spec.key)
        if not all(is_ours(service.labels) for service in found):
            raise NameTakenError("The service of this agent belongs to another installation, which made it.")
        if not any(service.name == self._spec.name for service in found):
            named = self._services.look_up(self._spec.name)
            found = [*found, named] if named else found
        return found

    def _must_go(self, found: Service) -> bool:
        """Returns whether it is an older one of ours. Raises for a newer one, and for one that is not ours."""
        if not carries(found.labels, self._spec.labels):
            raise NameTakenError(f"A service that is not ours is called {self._spec.name}. Remove or rename it.")
        generation = found.generation
        if generation > self._spec.generation:
            raise SupersededError("A newer deploy of this agent has happened.")
        return generation < self._spec.generation or QUARANTINE_LABEL in found.labels

    def _create(self) -> Service:
        """A new one, or the one that somebody else has made for the same deploy meanwhile."""
        for pause in _PAUSES:
            time.sleep(pause)
            made = self._secrets.make(self._spec)
            try:
                service_id = self._make(made)
                self._is_ours_to_undo = self._is_new = True
                found = self._services.look_up(service_id)
                if found is not None:
                    return found
            except (NameTakenError, ConflictError) as error:
                self._secrets.discard(made)
                if (kept := self._make_room()) is not None:
                    return kept
                refusal: EngineError = error
            except EngineError:
                self._secrets.discard(made)
                raise
            else:
                refusal = MissingError("The service was removed as soon as it was made.")
        raise EngineRefusedError(f"Somebody else is making or removing {self._spec.name}. Try once more.") from refusal

    def _bring_up(self, service: Service, confirm: Callable[[], bool]) -> Service:
        self._is_ours_to_undo = True
        if any(run.may_live for run in service.runs) and not service.is_wanted:
            # Two running agents would poll the same bot.
            self._verbs.stop(service, timeout=self._spec.stop_timeout, leave_lost=True)
        if not confirm():
            raise SupersededError("A newer command took the place of this deploy.")
        known = {run.task_id for run in service.runs}
        if not service.is_wanted:
            self._services.start(service.service_id)
        left = seconds_left()
        until = time.monotonic() + (DEPLOY_LIMIT if left is None else left) - LOOK
        while True:
            now = self._services.look_up(service.service_id)
            if now is None:
                raise EngineRefusedError("The agent was removed while it was started.")
            new = [run for run in now.runs if run.task_id not in known]
            if self._has_come(now, new) or time.monotonic() >= until:
                return now
            time.sleep(_ASK_EVERY)

    def _has_come(self, service: Service, new: list[Run]) -> bool:
        """Returns whether it runs or has run. Raises `EngineRefusedError` if it cannot be started."""
        if self._observe(service).state is ContainerState.RUNNING:
            return True
        refused = [run for run in new if run.ended_by_itself and not has_run(run)]
        full = [run for run in new if lacks_room(run)]
        self._cannot_start = bool(full) or len(refused) >= TRIES
        if full:
            raise NoRoomError(f"No machine can hold the agent: {full[0].error}.")
        if len(refused) >= TRIES:
            raise refusal_of(refused[0])
        return any(map(has_run, new))

    def _undo(self) -> None:
        """Removes what this deploy created and never started. If the Swarm does not answer, a later clean-up does it.

        A service that has run before is only kept from being started again and again, because its state is in use.
        """
        if not self._is_ours_to_undo:
            return
        with suppress(EngineError), time_limit(UNDO_LIMIT):
            there = self._services.ours(self._spec.key)
            found = next((each for each in there if each.name == self._spec.name), None)
            if found is None:
                self._secrets.remove(self._spec.key, before=self._spec.generation + 1)
            elif found.generation == self._spec.generation and (self._cannot_start or not found.is_wanted):
                self._give_up(found)

    def _give_up(self, found: Service) -> None:
        was_up = any(run.has_run and (run.state not in BY_THEMSELVES or has_run(run)) for run in found.runs)
        if was_up or not (self._is_new or self._observe(found).state is ContainerState.CREATED):
            self._services.empty(found.service_id)
            return
        self._services.remove(found)
        self._secrets.remove(self._spec.key, before=self._spec.generation + 1)
        if self._is_new:
            self._verbs.remove_volumes(self._spec.key, generation=self._spec.generation)
