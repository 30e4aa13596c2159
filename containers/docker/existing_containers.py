"""Prepares for a new container: removes or keeps the existing container with its key or its name."""

from collections.abc import Callable

from containers.agent_contract import DATA_PATH, SECRETS_PATH
from containers.docker.containers import Containers
from containers.docker.drift import is_at
from containers.docker.lookup import Lookup
from containers.docker_api.errors import as_refusal
from containers.docker_api.read_limits import start_in_thread
from containers.docker_api.usable_images import UsableImage, UsableImages
from containers.errors import EngineUnavailableError, NameTakenError, SupersededError
from containers.hardening import secrets_volume
from containers.identity import carries, is_of_another
from containers.vocabulary import QUARANTINE_LABEL, USER_LABEL, ContainerSpec, ContainerState, Health, Observation

_BROKEN = {ContainerState.DEAD, ContainerState.REMOVING}

_WELL = {0, 137, 143}
"""Exit codes of agents that were stopped. An agent that could not save its state has probably ended otherwise."""


class ExistingContainers:
    """The existing container before a call of `deploy`. `seen` is the caller's recent observation of it.

    It is trusted only if a mistake does no harm: an engine removes no running container, and gives no name twice.
    """

    def __init__(
        self,
        lookup: Lookup,
        containers: Containers,
        spec: ContainerSpec,
        images: UsableImages,
        retire: Callable[[Observation], None],
        seen: Observation | None,
    ) -> None:
        self._lookup = lookup
        self._containers = containers
        self._spec = spec
        self._images = images
        self._retire = retire
        self._seen = seen
        # The volume of the state if its container has just been removed, and whether that ran as the same user.
        self.state = ""
        self.is_handed_over = False
        # A container that was replaced without being seen before may have ended because it could not use its state.
        self.has_replaced = False

    def prepare(self, has_rules: Callable[[], bool]) -> Observation | None:
        """Removes older containers, within the agent type's stop timeout each. Returns the container that stays.

        If there are several of this generation, only the first one stays, because they would poll the same bot.
        """
        if self._seen is not None and self._replace_as_seen(self._seen, has_rules):
            return None
        # A container that the list lacks becomes visible when its name is taken.
        there = [] if self._spec.is_first else self._lookup.inspect_all(self._spec.key)
        if there:
            has_rules()  # raises before a running agent is touched
        for index, found in enumerate(there):
            if self.must_go(found):
                self.replace(found)
            elif index:
                self._containers.stop_found(found, timeout=self._spec.stop_timeout)
                self._containers.remove_found(found)
        kept = there[0] if there and not self.must_go(there[0]) else None
        return self.find() if kept and len(there) > 1 else kept

    def find(self) -> Observation | None:
        """Returns the agent's container that decides the state, or else the container that has its name."""
        if found := self._lookup.inspect_all(self._spec.key):
            return found[0]
        named = self._lookup.look_up(self._spec.name)
        return named if named and not is_of_another(named, self._spec) else None

    def must_go(self, found: Observation) -> bool:
        """Returns whether it is an older one of ours or has another address.

        Raises `SupersededError` for a newer one, and `NameTakenError` for one that is not ours.
        """
        if not carries(found.labels, self._spec.labels):
            message = f"A container that is not ours is called {self._spec.name}. Remove or rename it."
            raise NameTakenError(message)
        if found.generation > self._spec.generation:
            raise SupersededError("A newer deploy of this container has happened.")
        is_old = found.generation < self._spec.generation or not is_at(self._spec.address, found.labels)
        return is_old or found.state in _BROKEN

    def replace(self, found: Observation) -> None:
        self.require_image()  # before the old container goes
        self.has_replaced = True
        self._containers.stop_found(found, timeout=self._spec.stop_timeout)
        if found.state is not ContainerState.CREATED:
            self._retire(found)
        self._containers.remove_found(found)

    def replace_without_secrets(self, found: Observation) -> bool:
        """Returns False, and touches nothing, if the volume of its secrets is there, or that of its state is not.

        A deploy fills another volume with the same secrets. Nobody could fill one for the state.
        """
        volumes = self._lookup.find_volumes_for(self._spec.key, self._spec.name)
        if volumes.secrets or not volumes.state:
            return False
        self.replace(found)
        return True

    def require_image(self) -> UsableImage:
        """Asks for the image before the old container goes. Raises `ImageMissingError` and `ImageUnusableError`."""
        return self._images.require(self._spec.image, asks=True)

    def find_image(self) -> UsableImage:
        """Returns the image to create a container from. Raises the same errors."""
        return self._images.require(self._spec.image)

    def start(self, container: Observation) -> None:
        try:
            self._containers.start_found(container)
        except EngineUnavailableError as error:
            now = self.find()
            if now is None or not now.is_up:
                raise as_refusal(error) from error

    def forget(self) -> None:
        """Forgets what was known about the state, which may have changed because another deploy was faster."""
        self.state, self.is_handed_over = "", False

    def _replace_as_seen(self, seen: Observation, has_rules: Callable[[], bool]) -> bool:
        """Removes the container that was seen. Returns False if it has changed; the caller then looks again."""
        mounts = seen.mounts or {}
        state, is_known = mounts.get(DATA_PATH), mounts.get(SECRETS_PATH) == secrets_volume(self._spec.name)
        if not (state and is_known and self._is_former(seen)):
            return False
        is_there = start_in_thread(self.require_image)
        if not seen.is_up:
            self._retire(seen)  # meanwhile
        has_rules()
        is_there()
        if seen.is_up:
            self._containers.stop_found(seen, timeout=self._spec.stop_timeout, is_confirmed=False)
            self._retire(seen)
        if not self._containers.remove_down(seen):
            return False
        self.state, self.is_handed_over = state, self._was_used(seen)
        return True

    def _is_former(self, seen: Observation) -> bool:
        """Returns whether it is one of ours that has run, and that an earlier deploy created."""
        has_run = seen.state not in {ContainerState.CREATED, *_BROKEN} and QUARANTINE_LABEL not in seen.labels
        return has_run and carries(seen.labels, self._spec.labels) and seen.generation < self._spec.generation

    def _was_used(self, seen: Observation) -> bool:
        """Returns whether its state belongs to the same user, judging by its exit code or its health."""
        if seen.labels.get(USER_LABEL) != str(self._spec.user) or seen.started_at is None:
            return False
        is_well = seen.state is ContainerState.RUNNING and seen.health is not Health.UNHEALTHY
        return is_well or (not seen.is_up and seen.exit_code in _WELL)
