"""What an engine knows about images and about its machine: a part of `containers.engine.Engine`."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

CONTRACT_LABEL = "berth.agent.contract"
CAPABILITIES_LABEL = "berth.agent.capabilities"
"""The label in which an image declares what it can do: one or more of `Capability`, separated by commas."""


class Capability(StrEnum):
    """What an image may declare, in the order in which it is shown."""

    CHAT = "chat"
    MEMORY = "memory"
    VOICE = "voice"
    VISION = "vision"
    TOOLS = "tools"
    MCP = "mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """Facts about an image on the engine, and what it declares in its labels.

    `base` is the image on which this one is based, as `name@digest`, or None if it does not say. `capabilities`
    holds only those that the contract knows. `has_contract` says whether it declares that it keeps the agent contract.
    `fault` says in a sentence why no agent can have it, as far as its declarations show.
    """

    image_id: str
    base: str | None = None
    capabilities: tuple[str, ...] = ()
    has_contract: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """The machine that runs the containers: its memory in bytes, its cores, and the version of the engine.

    Each is None or empty if the engine does not say. `lacks` names the protections that this engine cannot provide, in
    the words of `BERTH_SWARM_ACCEPT`. `nodes` says by name which nodes of a Swarm its manager hears from; it is empty
    for a single host.
    """

    memory: int | None = None
    cpus: int | None = None
    version: str = ""
    lacks: tuple[str, ...] = ()
    nodes: Mapping[str, bool] = field(default_factory=dict)


class KnowsImages(Protocol):
    def image_exists(self, image: str) -> bool:
        """Returns whether the engine has the image, so that a deploy can start without a pull."""

    def describe_image(self, image: str) -> ImageFacts | None:
        """Returns the image's facts, or None if it is missing. Do not rely on its labels, which its author wrote."""

    def remove_unused_images(self, *, keep: Collection[str]) -> int:
        """Removes some of the images of agent types that Berth built at least a week ago, and returns how many.

        An image stays if a container was created from it, if it is the latest of its type, or if its id is in `keep`.
        This also removes former images of the gateway.
        """
