"""The domain errors of projects. Each message is a sentence for people that says what to do."""


class ProjectError(Exception):
    """Base of the domain errors of projects."""


class PlanLimitReachedError(ProjectError):
    """The owner has as many projects on the plan as it allows."""


class NoCapacityError(ProjectError):
    """The engine's host has no memory left for the project's plan."""


class DiskFullError(ProjectError):
    """The agent keeps as much as its plan allows, so that it may not run."""


class ImagePinnedError(ProjectError):
    """The staff have decided that the agent keeps its image."""


class BotInUseError(ProjectError):
    """Another project polls the same Telegram bot. The message never says whose."""


class ProjectSuspendedError(ProjectError):
    """Staff suspended the project or its owner."""


class AccountKeptError(ProjectError):
    """The account is one that its user cannot delete."""


class TooManyExportsError(ProjectError):
    """`retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("You have downloaded your data as often as an hour has. Try again in the next one.")
        self.retry_after = retry_after


class OperationInProgressError(ProjectError):
    """Another operation is in flight on the project; `retry_after` is in seconds."""

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CannotAdoptError(ProjectError):
    """What is to be adopted or deleted by an operator is not, or no longer, what they take it for."""


class ProjectGoneError(ProjectError):
    """The project was deleted while it was being worked on."""

    def __init__(self) -> None:
        super().__init__("The project was deleted meanwhile.")


class NoPlaceError(ProjectError):
    """The user, or all users together, have as many commands under way as may be."""

    retry_after = 5

    def __init__(self) -> None:
        super().__init__("Too many commands are under way. Wait until one of yours is done, then try again.")


class OperationLostError(ProjectError):
    """A stop or a deletion has taken the project from this operation."""


class PairingUnknownError(ProjectError):
    """The agents of this type do not pair with people."""


class UnknownRunError(ProjectError):
    """No log of a run of this number is kept."""


class IdempotencyMismatchError(ProjectError):
    """The Idempotency-Key was used before with another body."""


class InvalidFieldError(ProjectError):
    """A field of the request that Telegram or the provider rejects; `field` is its name on the wire."""

    def __init__(self, message: str, *, field: str, code: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code


class UnusableSettingsError(ProjectError):
    """The stored settings do not fit what Berth gives to a container. The message names the setting and no value."""


class GatewayOffError(ProjectError):
    """The agent may reach the gateway alone, and there is to be none."""

    def __init__(self) -> None:
        super().__init__("This agent may reach the gateway alone, and the gateway is switched off. Ask the staff.")


class TooManyStreamsError(ProjectError):
    """No lease is free for another long request."""

    retry_after = 5
