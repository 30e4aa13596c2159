"""Remembers the owner and mode of a new volume's directory, which the engine copies from the image.

Reading them takes the engine tens of milliseconds, and they are the same for every new agent of an image.
"""

from containers.docker.volumes.data_directory import Root


class NewVolumes:
    """Serves all threads of a process. An image is named by its id, because an image never changes."""

    def __init__(self) -> None:
        self._roots: dict[str, Root] = {}

    def root_from(self, image_id: str) -> Root | None:
        """Returns the directory of a new volume of this image, or None if it is not known."""
        return self._roots.get(image_id)

    def learn(self, image_id: str, root: Root) -> None:
        """Notes the directory of a new volume of this image, which no agent has used yet."""
        self._roots[image_id] = root
