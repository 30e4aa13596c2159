"""What the FROM lines of a Dockerfile begin with."""

import re
from dataclasses import dataclass

_BASE = re.compile(r"\$(?:BASE_IMAGE\b|\{BASE_IMAGE\})")
_FROM = re.compile(r"^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?", re.IGNORECASE | re.MULTILINE)
_PINNED = re.compile(r"\S*@sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginnings:
    """`ends_on_base`: whether the image that comes of it begins with BASE_IMAGE. `loose`: images that nothing fixes."""

    ends_on_base: bool
    loose: tuple[str, ...]


def read_beginnings(dockerfile: str) -> Beginnings:
    """Follows the FROM lines through their stages."""
    on_base, loose, stages = False, [], {"scratch": False}
    for image, stage in _FROM.findall(dockerfile.replace("\\\n", " ")):
        known = stages.get(image.lower())
        on_base = bool(_BASE.fullmatch(image)) if known is None else known
        if known is None and not on_base and not _PINNED.fullmatch(image):
            loose.append(image)
        if stage:
            stages[stage.lower()] = on_base
    return Beginnings(ends_on_base=on_base, loose=tuple(loose))
