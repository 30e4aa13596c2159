"""The domain errors of projects. Each message is a sentence for people that says what to do."""


class ProjectError(Exception):
    """Base of the domain errors of projects."""


class PlanLimitReachedError(ProjectError):
    """The owner already has as many projects on this plan as it allows."""


class NoCapacityError(ProjectError):
    """The engine's host has no memory left for the project's plan."""


class DiskFullError(ProjectError):
    """The agent stores as much as its plan allows, so it may not run."""


class ImagePinnedError(ProjectError):
    """The staff pinned the agent to its current image."""


class BotInUseError(ProjectError):
    """Another project polls the same Telegram bot. The message never says whose."""


class ProjectSuspendedError(ProjectError):
    """Staff suspended the project or its owner."""


class AccountKeptError(ProjectError):
    """The user may not delete this account."""


class TooManyExportsError(ProjectError):
    """The user has downloaded their data too often; `retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("You have downloaded your data too often within an hour. Try again in the next hour.")
        self.retry_after = retry_after


class OperationInProgressError(ProjectError):
    """Another operation is in flight on the project; `retry_after` is in seconds."""

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CannotAdoptError(ProjectError):
    """The object that an operator wants to adopt or delete is not, or no longer, what they expect."""


class ProjectGoneError(ProjectError):
    """The project was deleted while it was being worked on."""

    def __init__(self) -> None:
        super().__init__("The project was deleted meanwhile.")


class CreatedAndGoneError(ProjectGoneError):
    """The project that the first request with this Idempotency-Key created was deleted."""

    def __init__(self) -> None:
        ProjectError.__init__(
            self, "The project that this Idempotency-Key created has been deleted. Use a new key to create another."
        )


class NoPlaceError(ProjectError):
    """The user, or all users together, have the maximum number of commands under way."""

    retry_after = 5

    def __init__(self) -> None:
        super().__init__("Too many commands are under way. Wait until one of yours is done, then try again.")


class OperationLostError(ProjectError):
    """A stop or a deletion has taken over this operation's claim on the project."""


class PairingUnknownError(ProjectError):
    """Agents of this type do not support pairing."""


class UnknownRunError(ProjectError):
    """Berth has no log of a run with this number."""


class IdempotencyMismatchError(ProjectError):
    """The Idempotency-Key was used before with another body."""


class InvalidFieldError(ProjectError):
    """Telegram or the provider rejects a field of the request; `field` is its name in the API."""

    def __init__(self, message: str, *, field: str, code: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code


class UnusableSettingsError(ProjectError):
    """Berth cannot pass the stored settings to a container. The message names the setting but no value."""


class GatewayOffError(ProjectError):
    """The agent may reach nothing but the gateway, and the gateway is switched off."""

    def __init__(self) -> None:
        super().__init__("This agent may only reach the gateway, and the gateway is switched off. Ask the staff.")


class TooManyStreamsError(ProjectError):
    """No lease is free for another long request."""

    retry_after = 5
