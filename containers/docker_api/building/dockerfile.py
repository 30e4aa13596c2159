"""Reads the base images from the FROM lines of a Dockerfile."""

import re
from dataclasses import dataclass

_AGENT_BASE = re.compile(r"\$(?:AGENT_BASE\b|\{AGENT_BASE\})")
_BASE = re.compile(r"\$(?:BASE_IMAGE\b|\{BASE_IMAGE\})|" + _AGENT_BASE.pattern)
_FROM = re.compile(r"^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?", re.IGNORECASE | re.MULTILINE)
_PINNED = re.compile(r"\S*@sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseImages:
    """The images in the FROM lines.

    `uses_base_image`: whether the image is based on BASE_IMAGE, directly or through AGENT_BASE. `uses_agent_base`:
    whether any line names AGENT_BASE. `unpinned`: other images without a digest.
    """

    uses_base_image: bool
    uses_agent_base: bool
    unpinned: tuple[str, ...]


def read_base_images(dockerfile: str) -> BaseImages:
    """Follows the FROM lines through their stages."""
    on_base, unpinned, stages = False, [], {"scratch": False}
    lines = _FROM.findall(dockerfile.replace("\\\n", " "))
    for image, stage in lines:
        known = stages.get(image.lower())
        on_base = bool(_BASE.fullmatch(image)) if known is None else known
        if known is None and not on_base and not _PINNED.fullmatch(image):
            unpinned.append(image)
        if stage:
            stages[stage.lower()] = on_base
    uses_agent_base = any(_AGENT_BASE.fullmatch(image) for image, _ in lines)
    return BaseImages(uses_base_image=on_base, uses_agent_base=uses_agent_base, unpinned=tuple(unpinned))
