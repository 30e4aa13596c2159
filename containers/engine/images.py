"""What Berth asks of a container engine about images and about its machine: a part of `containers.engine.Engine`."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

CONTRACT_LABEL = "berth.agent.contract"
CAPABILITIES_LABEL = "berth.agent.capabilities"
"""The label in which an image declares what it can do: one or more of `Capability`, with commas between."""


class Capability(StrEnum):
    """What an image may declare, in the order in which it is told."""

    CHAT = "chat"
    MEMORY = "memory"
    VOICE = "voice"
    VISION = "vision"
    TOOLS = "tools"
    MCP = "mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """What an image on the engine is, and what it declares of itself in its labels.

    `base` is the image with which this one begins, as `name@digest`, and None where it does not say. `capabilities`
    are those that the contract knows. `has_contract`: whether it declares that it keeps the agent contract.
    """

    image_id: str
    base: str | None = None
    capabilities: tuple[str, ...] = ()
    has_contract: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """The machine that runs the containers: its memory in bytes, its cores, and the version of the engine.

    Each is None, or empty, where the engine does not say. `lacks`: what keeps agents inside elsewhere and cannot be
    held here, by the words of `BERTH_SWARM_ACCEPT`.
    """

    memory: int | None = None
    cpus: int | None = None
    version: str = ""
    lacks: tuple[str, ...] = ()


class KnowsImages(Protocol):
    def image_exists(self, image: str) -> bool:
        """Whether the engine has the image, so that a deploy can start without a pull."""

    def describe_image(self, image: str) -> ImageFacts | None:
        """None where the image is missing. What its labels say is its author's word, and nothing depends on it."""

    def remove_unused_images(self, *, keep: Collection[str]) -> int:
        """Removes some of the images of agent types that Berth built a week ago or earlier, and returns how many.

        Those stay that a container was made from, that are the latest of their type, or whose id is one of `keep`. It
        removes former ones of the gateway as well.
        """
