"""What Berth asks of an engine that tells of the reports of many agents at once."""

from collections.abc import Mapping
from typing import Protocol


class ReportStreams(Protocol):
    """`follow` may be called by any thread, and the rest by one of its own."""

    def follow(self, running: Mapping[str, str]) -> None:
        """Follows these containers, given as keys by their ids, and no others. Of too many it follows the first."""

    def wait(self, timeout: float) -> set[str]:
        """The keys of containers that have printed a report, after at most `timeout` seconds or a little more.

        What was printed since `follow` first named a container is not missed, and may be told twice. Raises nothing.
        """

    def close(self) -> None:
        """Stops following all containers, and closes their logs."""
