"""When the gateway is told during a deploy, for tests of kills: a kill ends all threads of a process at once."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from projects.services import gateway

FIRST, LAST = "told first", "told last"
"""Before the container is made, or after it."""


def tell_in_the_same_thread(patch: pytest.MonkeyPatch, when: str) -> None:
    class Thread:
        def __init__(self, *, target: Callable[[], None], **_: Any) -> None:
            self._target = target

        def start(self) -> None:
            if when == FIRST:
                self._target()

        def join(self, _within: float) -> None:
            if when == LAST:
                self._target()

        def is_alive(self) -> bool:
            return False

    patch.setattr(gateway, "threading", SimpleNamespace(Thread=Thread))
