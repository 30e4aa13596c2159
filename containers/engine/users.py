"""The user numbers of agents on the engine: a part of `containers.engine.Engine`."""

from collections.abc import Collection
from typing import Protocol


class CountsUsers(Protocol):
    def highest_user(self, *, block: Collection[int] = ()) -> int | None:
        """Returns the highest user number in use on this engine, or None if there is none.

        It counts the users of this installation's containers, and the owners of states in volumes and in quarantine.
        Containers of other installations count if their user number lies in this `block`. A number that is in use must
        not be given to another agent, even if the caller does not know the container that uses it.
        """

    def has_user(self, user: int) -> bool:
        """Returns whether a container or a volume of any installation has this user number. Costs less than
        `highest_user` where there are many.
        """
