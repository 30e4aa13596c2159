"""What a volume is like that the engine has just made: as the directory of the image is, from which it fills it.

To look takes the engine tens of milliseconds, and every new agent of an image gets the same.
"""

import time

from containers.docker.volumes.data_directory import Root

SAME_FOR = 30.0
"""Seconds for which a name is taken for that of the same image. It may be built anew; a later deploy looks again."""


class NewVolumes:
    """Serves all threads of a process."""

    def __init__(self) -> None:
        self._ids: dict[str, tuple[str, float]] = {}
        self._roots: dict[str, Root] = {}

    def note_image(self, image: str, image_id: str) -> None:
        """The engine has just said that the name is this image's; an empty id: that there is none."""
        self._ids[image] = image_id, time.monotonic()

    def root_from(self, image: str) -> Root | None:
        """None where that is not known."""
        return self._roots.get(self._id_of(image))

    def learn(self, image: str, root: Root) -> None:
        """`root` is that of a new volume, in which nothing has run."""
        if image_id := self._id_of(image):
            self._roots[image_id] = root

    def _id_of(self, image: str) -> str:
        image_id, at = self._ids.get(image, ("", 0.0))
        return image_id if time.monotonic() - at <= SAME_FOR else ""
