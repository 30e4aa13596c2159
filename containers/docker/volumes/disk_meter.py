"""Measures agents' disk use with `du` in a short-lived container that mounts their volumes read-only.

GET /system/df is an alternative (measured with Docker 20.10, 40 volumes, 180,000 files). It took 3 to 5 s for
everything on the engine, images included. It counts the length of files and not the space that they take, so a million
empty files count as nothing, and it cannot be limited to some volumes. A container took 6 to 10 s for them, while the
engine answered lists as fast as before.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from django.conf import settings

from containers.docker.helpers import find_helpers, remove_helper
from containers.docker.lookup import Lookup
from containers.docker.volumes.measuring import LABEL, Measuring
from containers.docker_api.building.image_build import FIREWALL, find_contexts, inspect_image
from containers.docker_api.client import Connection
from containers.errors import EngineError, EngineRefusedError
from containers.hardening import DATA
from containers.identity import is_ours
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, DiskUse, Volume

AT_ONCE = 16
"""Volumes that one container measures in parallel."""


class DiskMeter:
    """One thread at a time may call `measure`; any thread may call `give_way`."""

    def __init__(self, connection: Connection, lookup: Lookup) -> None:
        self._connection = connection
        self._lookup = lookup

    def measure(self, keys: Mapping[str, int], *, images: Collection[str]) -> Iterator[tuple[str, DiskUse]]:
        """See `Engine.measure_disks`."""
        if not keys:
            return
        image = self._choose_image(images)
        found = {each.key: each for each in self._states() if each.key in keys}
        for key in keys.keys() - found.keys():
            yield key, DiskUse(used=0, files=0)
        measuring = Measuring(self._connection, image)
        measuring.remove_left_behind()
        states = [found[key] for key in sorted(found)]
        for first in range(0, len(states), AT_ONCE):
            yield from self._measure_batch(measuring, states[first : first + AT_ONCE], keys)

    def give_way(self, key: str) -> None:
        """Ends the measurement of this key's state, because a volume cannot be removed while a container uses it."""
        for state in self._states({PROJECT_LABEL: key}):
            for helper, _ in find_helpers(self._connection, LABEL, volume=state.name):
                remove_helper(self._connection, helper)

    def _measure_batch(
        self, measuring: Measuring, states: Sequence[Volume], most: Mapping[str, int]
    ) -> Iterator[tuple[str, DiskUse]]:
        """Measures these volumes together, or each alone if one of them prevents the container's creation or start."""
        try:
            yield from measuring.run(states, most)
        except EngineError:
            if len(states) > 1:
                for state in states:
                    yield from self._measure_batch(measuring, [state], most)

    def _states(self, within: Mapping[str, str] | None = None) -> list[Volume]:
        found = self._lookup.list_volumes({**(within or {}), INSTANCE_LABEL: settings.BERTH_INSTANCE})
        return [each for each in found if each.name.endswith(DATA) and is_ours(each.labels)]

    def _choose_image(self, images: Collection[str]) -> str:
        for image in (FIREWALL.image, *(context.image for context in find_contexts()), *images):
            if inspect_image(self._connection, image):
                return image
        message = "The engine has no image with which disks can be measured; `manage.py build_images` makes one."
        raise EngineRefusedError(message)
