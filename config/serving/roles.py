"""Which processes a `serve` runs: the web server, the watcher, or both."""

from enum import StrEnum


class Role(StrEnum):
    """Values of BERTH_ROLE."""

    ALL = "all"
    WEB = "web"
    WATCHER = "watcher"

    @property
    def serves(self) -> bool:
        """Whether it listens and answers requests."""
        return self is not Role.WATCHER

    @property
    def watches(self) -> bool:
        return self is not Role.WEB
