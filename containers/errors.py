"""What an engine may answer instead of doing what it was asked. Knows no HTTP."""


class EngineError(Exception):
    """The engine did not do what was asked. The message is a sentence for people and holds no secret."""


class EngineUnavailableError(EngineError):
    """The engine did not answer, or not in time. The state of the container is unknown."""


class ContainerSilentError(EngineUnavailableError):
    """The engine does not answer for this container, though it answers for others. Its state is unknown."""


class FirewallMissingError(EngineUnavailableError):
    """The agents' firewall is required and does not hold, so that no agent is started. The next try may succeed."""

    def __init__(self, message: str = "") -> None:
        super().__init__(
            message or "No agent is started now: its firewall does not hold. Try again soon or tell the staff."
        )


class GatewayMissingError(EngineUnavailableError):
    """The gateway, which agents are to have, does not run, so that no agent is started. The next try may succeed."""

    def __init__(self, message: str = "") -> None:
        super().__init__(
            message
            or "No agent is started now: the gateway that it needs does not run. Try again soon or tell the staff."
        )


class StillStoppingError(EngineError):
    """The agent uses more of the time that it has for its end than the caller has. The engine goes on stopping it."""


class EngineRefusedError(EngineError):
    """The engine answered that it will not or cannot do it."""


class GatewaySilentError(EngineRefusedError):
    """The gateway was started and does not answer. To learn that takes many seconds."""


class ImageMissingError(EngineRefusedError):
    """The image of the agent type is not on the engine. Images are never pulled inside a request."""


class ImageNotPulledError(ImageMissingError):
    """The engine has the image, and none of the nodes that could run the agent has got it from the registry yet."""


class NoRoomError(EngineRefusedError):
    """No machine of the engine's has as much memory left as the agent is to have."""


class NameTakenError(EngineRefusedError):
    """A container that is not ours has the name. It is never touched."""


class AddressUnusableError(EngineRefusedError):
    """The agent cannot have its address: it is none of the agents' network any more, or somebody else has it."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or "The agent cannot have its address on the agents' network.")


class AlteredError(EngineRefusedError):
    """Somebody changed the container in a way that no engine undoes. Only one that is made anew is as it should be."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or "Somebody changed the agent's container. Restart the agent to have it made anew.")


class SupersededError(EngineError):
    """A newer command took precedence over this deploy, which has left no container of its own."""
