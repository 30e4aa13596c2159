"""The errors that an engine raises. They do not depend on HTTP."""


class EngineError(Exception):
    """The engine did not do what it was asked. The message is a sentence for people and contains no secret."""


class EngineUnavailableError(EngineError):
    """The engine did not answer in time. The state of the container is unknown."""


class ContainerSilentError(EngineUnavailableError):
    """The engine does not answer for this container, although it answers for others. Its state is unknown."""


class FirewallMissingError(EngineUnavailableError):
    """The agents' firewall is required but not in force, so no agent is started. The next attempt may succeed."""

    def __init__(self, message: str = "") -> None:
        super().__init__(
            message or "No agent can start now because the firewall is not in force. Try again soon or tell the staff."
        )


class GatewayMissingError(EngineUnavailableError):
    """The gateway that agents need does not run, so no agent is started. The next attempt may succeed."""

    def __init__(self, message: str = "") -> None:
        super().__init__(
            message or "No agent can start now because the gateway does not run. Try again soon or tell the staff."
        )


class GatewayDiskError(EngineUnavailableError):
    """The gateway is at work, but its disk does not allow what it was asked. The next attempt may succeed."""


class StillStoppingError(EngineError):
    """The agent takes longer to stop than its caller can wait. The engine continues to stop it."""


class EngineRefusedError(EngineError):
    """The engine answered that it will not or cannot do it."""


class GatewaySilentError(EngineRefusedError):
    """The gateway was started but does not answer. Finding that out takes many seconds."""


class ImageMissingError(EngineRefusedError):
    """The image of the agent type is not on the engine. Images are never pulled inside a request."""


class ImageNotPulledError(ImageMissingError):
    """The engine has the image, but no node that could run the agent has pulled it from the registry yet."""


class ImageUnusableError(EngineRefusedError):
    """No agent can have the image, because of what it declares or contains. The message tells its author why."""


class NoRoomError(EngineRefusedError):
    """None of the engine's machines has enough memory left for the agent."""


class NameTakenError(EngineRefusedError):
    """A container that is not ours has the name. It is never touched."""


class AddressUnusableError(EngineRefusedError):
    """The agent cannot have its address: it is no longer in the agents' network, or another container has it."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or "The agent cannot get its address on the agents' network.")


class AlteredError(EngineRefusedError):
    """Someone changed the container in a way that the engine cannot undo. Only a new container can replace it."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or "Someone changed the agent's container. Restart the agent to get a new one.")


class SupersededError(EngineError):
    """A newer command took precedence over this deploy, which has left no container behind."""
