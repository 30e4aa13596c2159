"""The images of the engine in memory: their names in `images`, and their facts in `described`."""

from collections.abc import Callable, Collection

from containers.engine.images import ImageFacts
from containers.engine.trials import TrialRun
from containers.errors import ImageMissingError, ImageUnusableError
from containers.vocabulary import AgentReport, ContainerSpec
from tests.fakes.memory_streams import MemoryStreams


def try_well(spec: ContainerSpec, token: str, key: str) -> TrialRun:
    """Returns the runs of an image that keeps the contract."""
    given = spec.secrets
    if given.get("telegram_bot_token", token) != token:
        return TrialRun(exit_code=20)
    if given.get("agent_api_key", key) != key:
        return TrialRun(exit_code=30)
    return TrialRun(
        ready_after=0.1, answered_after=0.2, answer="Ahoy", stop_code=0, stopped_within=0.1,
        report=AgentReport(state="running"), users=frozenset({spec.user}),
    )  # fmt: skip


class MemoryImages(MemoryStreams):
    def reset(self) -> None:
        with self._changed:
            super().reset()
            self.described: dict[str, ImageFacts] = {}
            self.former_images: set[str] = set()
            self.trial: Callable[[ContainerSpec, str, str], TrialRun] = try_well

    def image_exists(self, image: str) -> bool:
        self._enter("image_exists", image)
        return self.find_image(image) is not None

    def find_image(self, name_or_id: str) -> str | None:
        """Returns the id of the image. Those in `former_images` have lost their names."""
        ids = {name: self.describe_known(name).image_id for name in self.images}
        known = {*ids.values(), *self.former_images}
        return ids.get(name_or_id) or (name_or_id if name_or_id in known else None)

    def require_image(self, image: str) -> None:
        """Raises an error if no helper container can be made from this image."""
        if (image_id := self.find_image(image)) is None:
            raise ImageMissingError(f"The image {image} is not on the engine.")
        faults = {each.image_id: each.fault for each in map(self.describe_known, self.images)}
        if fault := faults.get(image_id):
            raise ImageUnusableError(fault)

    def describe_image(self, image: str) -> ImageFacts | None:
        self._enter("describe_image", image)
        return self.describe_known(image) if image in self.images else None

    def describe_known(self, image: str) -> ImageFacts:
        return self.described.get(image, ImageFacts(image_id=f"sha256:{image}", has_contract=True))

    def try_image(self, spec: ContainerSpec, *, token: str, key: str, within: float, grace: int) -> TrialRun:
        self._enter("try_image", spec.image)
        return self.trial(spec, token, key)

    def remove_unused_images(self, *, keep: Collection[str]) -> int:
        self._enter("remove_unused_images")
        with self._changed:
            unused = self.former_images - {*keep}
            self.former_images -= unused
        return len(unused)
