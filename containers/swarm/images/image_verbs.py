"""Finds and describes images on a Swarm's manager (`containers.engine.images`)."""

from collections.abc import Collection

from containers.docker_api.client import Connection
from containers.docker_api.images import describe_image
from containers.docker_api.usable_images import UsableImages
from containers.engine.images import ImageFacts
from containers.engine.trials import TrialRun
from containers.errors import EngineRefusedError
from containers.vocabulary import ContainerSpec


class ImageVerbs:
    _connection: Connection
    _images: UsableImages

    def image_exists(self, image: str) -> bool:
        return bool(self._images.note(image))

    def describe_image(self, image: str) -> ImageFacts | None:
        return describe_image(self._connection, image)

    def remove_unused_images(self, *, keep: Collection[str]) -> int:
        """Removes images on this node only, because other nodes' use is unknown: run `docker image prune` there."""
        self._images.remove_left_behind()
        return 0

    def try_image(self, spec: ContainerSpec, *, token: str, key: str, within: float, grace: int) -> TrialRun:
        raise EngineRefusedError("Images are not tried in a Swarm. Try them on a single host (BERTH_ENGINE=docker).")
