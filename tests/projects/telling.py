"""When the gateway is notified during a deploy, for tests of kills: a kill ends all threads of a process at once."""

import pytest

from containers.processes.side_work import SideWork
from projects.services.gateway import synchronization as gateway

FIRST, LAST = "told first", "told last"
"""Before the container is created, or after it."""


def tell_in_the_same_thread(patch: pytest.MonkeyPatch, when: str) -> None:
    class Saying(SideWork[str]):
        def begin(self) -> bool:
            if when == FIRST:
                self.do()
                if self._error is not None:
                    raise self._error
            return True

    patch.setattr(gateway, "SideWork", Saying)
