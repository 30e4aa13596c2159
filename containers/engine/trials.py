"""How an engine tries out an image: a part of `containers.engine.Engine`."""

from dataclasses import dataclass, field
from typing import Protocol

from containers.vocabulary import AgentReport, ContainerSpec

TRIAL_LABEL = "berth.trial"
"""The label of a trial's containers, which belong to no project. Its value is the instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRun:
    """The result of one run of an image. Times are seconds since its start; None means that it did not happen.

    `refusal` says why the engine did not start it. It is ready (`ready_after`) when its health check passes or it
    reports that it runs, or if it does neither, when it asks Telegram for messages. `answer` is its reply to the person
    who wrote to it, and may be empty. `exit_code` is set if it ended by itself; with `is_out_of_memory` the kernel has
    killed some process of it for memory. `stop_code` is set if it ended after SIGTERM, within `stopped_within` seconds.
    `users` are the users of its processes, empty if the engine cannot say. `volumes` are places outside the contract's
    that it could write to. `lines` is its output from the first line on; the middle may be missing if it printed
    several MB.
    """

    refusal: str = ""
    ready_after: float | None = None
    answered_after: float | None = None
    answer: str = ""
    exit_code: int | None = None
    is_out_of_memory: bool = False
    stop_code: int | None = None
    stopped_within: float | None = None
    report: AgentReport | None = None
    has_health_check: bool = False
    users: frozenset[int] = frozenset()
    volumes: tuple[str, ...] = ()
    lines: tuple[str, ...] = field(default=(), repr=False)


class TriesImages(Protocol):
    def try_image(self, spec: ContainerSpec, *, token: str, key: str, within: float, grace: int) -> TrialRun:
        """Runs the image of this spec on a network with only a fake Bot API server and a fake provider.

        These accept this token and this key. The container is stopped once it is ready and has answered, or after
        `within` seconds; SIGKILL follows `grace` seconds after SIGTERM. Everything that the trial creates carries the
        spec's labels and is removed at its end. A later call removes what a killed process has left behind.

        Raises `EngineUnavailableError`, and `EngineRefusedError` if there is no image for the servers. If the engine
        refuses the image itself, `TrialRun.refusal` says why.
        """
