"""The images of the engine in memory: their names in `images`, and what is said of them in `described`."""

from containers.engine_images import ImageFacts
from tests.fakes.memory_streams import MemoryStreams


class MemoryImages(MemoryStreams):
    def reset(self) -> None:
        with self._changed:
            super().reset()
            self.described: dict[str, ImageFacts] = {}

    def image_exists(self, image: str) -> bool:
        self._enter("image_exists", image)
        return image in self.images

    def describe_image(self, image: str) -> ImageFacts | None:
        self._enter("describe_image", image)
        if image not in self.images:
            return None
        return self.described.get(image, ImageFacts(image_id=f"sha256:{image}", has_contract=True))
