"""Remembers the owner and mode of a new volume's directory, which the engine copies from the image.

Reading them takes the engine tens of milliseconds, and they are the same for every new agent of an image.
"""

import time

from containers.docker.volumes.data_directory import Root

SAME_FOR = 30.0
"""Seconds for which a name is assumed to mean the same image. After that, the image may have been rebuilt."""


class NewVolumes:
    """Serves all threads of a process."""

    def __init__(self) -> None:
        self._ids: dict[str, tuple[str, float]] = {}
        self._roots: dict[str, Root] = {}

    def note_image(self, image: str, image_id: str) -> None:
        """Notes the engine's answer that the name means this image. An empty id means that there is none."""
        self._ids[image] = image_id, time.monotonic()

    def root_from(self, image: str) -> Root | None:
        """Returns the directory of a new volume of this image, or None if it is not known."""
        return self._roots.get(self._id_of(image))

    def learn(self, image: str, root: Root) -> None:
        """Notes the directory of a new volume of this image, which no agent has used yet."""
        if image_id := self._id_of(image):
            self._roots[image_id] = root

    def _id_of(self, image: str) -> str:
        image_id, at = self._ids.get(image, ("", 0.0))
        return image_id if time.monotonic() - at <= SAME_FOR else ""
