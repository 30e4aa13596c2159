"""Deploys a container on Docker: creates it, hands over its state, delivers its secrets, confirms and starts it."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from containers.docker.containers import Containers
from containers.docker.existing_containers import ExistingContainers
from containers.docker.lookup import AgentVolumes, Lookup
from containers.docker.volumes.credentials import Credentials
from containers.docker.volumes.handover import Handover, was_handed_over
from containers.docker.volumes.quota import HardQuota
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, EngineFailedError, as_refusal
from containers.docker_api.read_limits import start_in_thread
from containers.errors import (
    AlteredError,
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    NameTakenError,
    SupersededError,
)
from containers.hardening import container_labels, data_volume
from containers.identity import carries
from containers.outbound.call_limits import time_limit
from containers.vocabulary import ContainerSpec, ContainerState, Observation

DEPLOY_LIMIT = 20.0
"""Seconds for a deploy, counted from the moment at which an older container is gone."""

UNDO_LIMIT = 5.0
_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds to wait before each look at the name: Docker reserves a name some time before it shows the container."""


class Deployment:
    """One call of `deploy`. It remembers which volumes it has created, so that it can undo a failure."""

    def __init__(
        self,
        connection: Connection,
        lookup: Lookup,
        containers: Containers,
        spec: ContainerSpec,
        existing: ExistingContainers,
        realign: Callable[[Observation], object],
        quota: HardQuota,
        handover: Callable[[ContainerSpec], Handover],
    ) -> None:
        self._connection = connection
        self._lookup = lookup
        self._containers = containers
        self._spec = spec
        self._key = spec.key
        self._state = data_volume(spec.name)
        self._existing = existing
        self._realign = realign
        self._quota = quota
        self._credentials = Credentials(connection, lookup, containers, spec)
        self._handover = handover
        self._on_missing_state: Callable[[], None] = lambda: None
        self._new_volumes: list[str] = []
        self._is_ours_to_undo = False
        self._is_new = False
        self._was_there = False
        self._is_handed_over = False
        self._is_first = spec.is_first

    def run(
        self, confirm: Callable[[], bool], has_rules: Callable[[], bool], on_missing_state: Callable[[], None]
    ) -> Observation:
        self._on_missing_state = on_missing_state
        try:
            kept = self._existing.prepare(has_rules)
            with time_limit(DEPLOY_LIMIT):
                container = self._settle_name(kept)
                if container.has_drifted:
                    container = self._set_right(container)
                if not container.is_up:
                    self._bring_up_or_replace(container, confirm)
                return self._lookup.look_up(container.container_id) or self._existing.find() or container
        except EngineError:
            self._undo()
            raise

    def _settle_name(self, known: Observation | None) -> Observation:
        """Returns the container of this generation: the one that has the name already, or a new one.

        `known` is the container that was there a moment ago. If another deploy was faster and has taken the name, this
        looks again.
        """
        for attempt, pause in enumerate(_PAUSES):
            time.sleep(pause)
            found = self._existing.find() if attempt else known
            if found is not None and not self._existing.must_go(found):
                return found
            if found is not None:
                self._existing.replace(found)
            try:
                return self._create()
            except (NameTakenError, ConflictError):
                self._is_first = False  # a newer operation on the new project was faster
                self._existing.forget()
                self._containers.free_name(self._spec)  # the faster deploy's container may not be visible yet
        raise EngineRefusedError(f"Somebody else is making or removing {self._spec.name}. Try once more in a moment.")

    def _set_right(self, container: Observation) -> Observation:
        """Returns the container with its settings restored, or a new one if they cannot be."""
        try:
            self._realign(container)
        except AlteredError:
            self._existing.replace(container)
            return self._settle_name(None)
        return container

    def _create(self) -> Observation:
        image_id, places = self._existing.find_image()
        self._spec = spec = replace(self._spec, image=image_id)  # and no other that gets its name now
        self._prepare_volumes()
        if is_new := self._state in self._new_volumes:
            self._on_missing_state()  # before the call: an engine that does not answer may still create the volume
        try:
            container_id = self._quota.create(self._connection, spec, state=self._state, is_new=is_new, places=places)
        except EngineUnavailableError as error:
            # The engine may have created it nevertheless.
            self._is_ours_to_undo = True
            found = self._existing.find()
            if found is None or self._existing.must_go(found):
                raise as_refusal(error) from error
            self._was_there = True
            return found
        self._is_ours_to_undo = self._is_new = self._was_there = True
        labels, state = container_labels(spec), ContainerState.CREATED
        return Observation(name=spec.name, container_id=container_id, labels=labels, state=state)

    def _prepare_volumes(self) -> None:
        """Notes which volumes this deploy creates, and removes those of other credentials."""
        name = self._spec.name
        if self._is_first:
            volumes = AgentVolumes("", [])
        elif self._existing.state:
            volumes = AgentVolumes(self._existing.state, self._credentials.find_known())
        else:
            volumes = self._lookup.find_volumes_for(self._key, name)
        is_known = not self._existing.has_replaced and was_handed_over(volumes.labels, self._spec)
        self._is_handed_over = self._existing.is_handed_over or is_known
        self._state = volumes.state or data_volume(name)
        self._new_volumes = [*self._credentials.prepare(volumes.secrets), *([] if volumes.state else [self._state])]

    def _bring_up_or_replace(self, container: Observation, confirm: Callable[[], bool]) -> None:
        """Replaces a container that stays if the engine has lost the volume of its secrets: it could never start."""
        try:
            self._bring_up(container, confirm)
        except EngineFailedError:
            if self._is_new or not self._existing.replace_without_secrets(container):
                raise
            self._bring_up(self._settle_name(None), confirm)

    def _bring_up(self, container: Observation, confirm: Callable[[], bool]) -> None:
        self._is_ours_to_undo = True
        is_filled = self._is_new and self._state in self._new_volumes
        handover = self._handover(self._spec)
        if self._is_new and self._is_handed_over:
            # The volume was there, but may have disappeared since then.
            was_gone = start_in_thread(partial(self._lookup.has_volume, self._state, generation=self._spec.generation))
            self._credentials.deliver(container.container_id, self._spec.user, is_new=True)
            if was_gone():
                self._on_missing_state()
                handover.complete(container, is_new=True)
        else:
            user = handover.complete(container, is_new=self._is_new, is_volume_new=is_filled)
            self._credentials.deliver(container.container_id, user, is_new=self._is_new)
        if not confirm():
            raise SupersededError("A newer command took the place of this deploy.")
        self._existing.start(container)

    def _undo(self) -> None:
        """Removes what this deploy created and never started. If the engine does not answer, a later clean-up does it.

        A state stays if a newer deploy may have used it: that one created the volume, or this one's container is gone.
        """
        if not self._is_ours_to_undo:
            return
        with suppress(EngineError), time_limit(UNDO_LIMIT):
            found, volumes = self._existing.find(), self._new_volumes
            if found is not None and not self._is_mine(found):
                return
            if found is not None:
                self._containers.remove_found(found, force=False)
            elif self._was_there:
                volumes = [volume for volume in volumes if volume != self._state]
            for volume in volumes:
                self._containers.remove_volume(volume, generation=self._spec.generation)

    def _is_mine(self, found: Observation) -> bool:
        is_of_this = found.generation == self._spec.generation and carries(found.labels, self._spec.labels)
        return is_of_this and found.state is ContainerState.CREATED
