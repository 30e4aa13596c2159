"""How an engine follows the reports of many agents at once."""

from collections.abc import Mapping
from typing import Protocol


class ReportStreams(Protocol):
    """Any thread may call `follow`; a single thread calls the other methods."""

    def follow(self, running: Mapping[str, str]) -> None:
        """Follows exactly these containers: keys by container ids. If there are too many, it follows the first ones."""

    def wait(self, timeout: float) -> set[str]:
        """Returns the keys of containers that have printed a report, after `timeout` seconds or a little more at most.

        No report is missed that was printed since `follow` first named a container; one may be returned twice. Raises
        nothing.
        """

    def close(self) -> None:
        """Stops following all containers, and closes their logs."""
