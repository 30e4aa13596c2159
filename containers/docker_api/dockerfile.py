"""The base images that the FROM lines of a Dockerfile name."""

import re
from dataclasses import dataclass

_BASE = re.compile(r"\$(?:BASE_IMAGE\b|\{BASE_IMAGE\})")
_FROM = re.compile(r"^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?", re.IGNORECASE | re.MULTILINE)
_PINNED = re.compile(r"\S*@sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseImages:
    """`uses_base_image`: whether the image is built on BASE_IMAGE. `unpinned`: other images that no digest fixes."""

    uses_base_image: bool
    unpinned: tuple[str, ...]


def read_base_images(dockerfile: str) -> BaseImages:
    """Follows the FROM lines through their stages."""
    on_base, unpinned, stages = False, [], {"scratch": False}
    for image, stage in _FROM.findall(dockerfile.replace("\\\n", " ")):
        known = stages.get(image.lower())
        on_base = bool(_BASE.fullmatch(image)) if known is None else known
        if known is None and not on_base and not _PINNED.fullmatch(image):
            unpinned.append(image)
        if stage:
            stages[stage.lower()] = on_base
    return BaseImages(uses_base_image=on_base, unpinned=tuple(unpinned))
