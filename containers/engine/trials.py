"""What Berth asks of a container engine about an image that is tried out: a part of `containers.engine.Engine`."""

from dataclasses import dataclass, field
from typing import Protocol

from containers.vocabulary import AgentReport, ContainerSpec

TRIAL_LABEL = "berth.trial"
"""The label of the containers of a trial; its value is the instance. They belong to no project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRun:
    """What one run of an image came to. Times are seconds since its start; None: that did not happen.

    `refusal`: why the engine did not start it. `ready_after`: its health check passed, it reported that it runs, or it
    has neither and asked Telegram for messages. `answer` is what it wrote to the person who had written to it, which
    may be empty. `exit_code` is how it ended by itself, `stop_code` after SIGTERM, within `stopped_within` seconds.
    `users` are those of its processes, none where the engine cannot say. `volumes` are places beyond the contract's
    that it could write to. `lines` are what it printed, from its
    first line on; the middle may be missing where that is several MB.
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
        """Runs the image of this spec beside a Bot API server and a provider, and where nothing else can be reached.

        They accept this token and this key. It is stopped once it is ready and has answered, or after `within` seconds;
        SIGKILL follows `grace` seconds after SIGTERM. The spec's labels are on all that is made, and all of it is
        removed. What a killed process has left, a later call removes.

        Raises `EngineUnavailableError`, and `EngineRefusedError` where there is no image for the servers. What the
        engine has against the image itself, the run tells.
        """
