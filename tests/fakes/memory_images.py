"""The images of the engine in memory: their names in `images`, and what is said of them in `described`."""

from collections.abc import Callable

from containers.engine_images import ImageFacts
from containers.engine_trials import TrialRun
from containers.vocabulary import AgentReport, ContainerSpec
from tests.fakes.memory_streams import MemoryStreams


def try_well(spec: ContainerSpec, token: str, key: str) -> TrialRun:
    """What comes of an image that keeps the contract."""
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
            self.trial: Callable[[ContainerSpec, str, str], TrialRun] = try_well

    def image_exists(self, image: str) -> bool:
        self._enter("image_exists", image)
        return image in self.images

    def describe_image(self, image: str) -> ImageFacts | None:
        self._enter("describe_image", image)
        if image not in self.images:
            return None
        return self.described.get(image, ImageFacts(image_id=f"sha256:{image}", has_contract=True))

    def try_image(self, spec: ContainerSpec, *, token: str, key: str, within: float, grace: int) -> TrialRun:
        self._enter("try_image", spec.image)
        return self.trial(spec, token, key)
