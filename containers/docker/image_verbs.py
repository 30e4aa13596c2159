"""Finds, describes, tries and removes images on a Docker engine (`containers.engine.images`)."""

from collections.abc import Collection

from containers.docker.trials.runs import Trial
from containers.docker_api.building.unused_images import remove_unused
from containers.docker_api.client import Connection
from containers.docker_api.images import describe_image
from containers.docker_api.usable_images import UsableImages
from containers.engine.images import ImageFacts
from containers.engine.trials import TrialRun
from containers.vocabulary import ContainerSpec


class ImageVerbs:
    _connection: Connection
    _images: UsableImages

    def image_exists(self, image: str) -> bool:
        return bool(self._images.note(image))

    def describe_image(self, image: str) -> ImageFacts | None:
        return describe_image(self._connection, image)

    def remove_unused_images(self, *, keep: Collection[str]) -> int:
        self._images.remove_left_behind()
        return remove_unused(self._connection, keep=keep)

    def try_image(self, spec: ContainerSpec, *, token: str, key: str, within: float, grace: int) -> TrialRun:
        return Trial(self._connection, spec).run(token=token, key=key, within=within, grace=grace)
