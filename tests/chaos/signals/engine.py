"""An engine in memory whose work waits for as long as the file `wait` is there."""

import time
from multiprocessing import current_process
from typing import Any

from config.database import limits
from config.http import middleware
from config.serving.supervision.children import WATCHER
from containers.errors import EngineUnavailableError
from projects.services import operations
from tests.chaos.database.engine import TalkativeEngine
from tests.chaos.inside.kill_points import folder

PATIENCE = 100.0
"""Seconds for a request and an operation, in place of half a minute: how fast the machine is, is not tested."""

middleware.OUTSIDE_WITHIN = middleware.DATABASE_WITHIN = limits.REQUEST = limits.ANSWER = PATIENCE
assert operations.time_allowed.__kwdefaults__
operations.time_allowed.__kwdefaults__["seconds"] = PATIENCE


class HeldEngine(TalkativeEngine):
    """The watcher has one of its own, on which there is nothing. It sees nothing of it, and so repairs nothing."""

    def observe(self, *arguments: Any, **options: Any) -> Any:
        if current_process().name == WATCHER:
            raise EngineUnavailableError
        return super().observe(*arguments, **options)

    def deploy(self, *arguments: Any, **options: Any) -> Any:
        _wait("deploy")
        return super().deploy(*arguments, **options)

    def stop(self, *arguments: Any, **options: Any) -> Any:
        _wait("stop")
        return super().stop(*arguments, **options)


def _wait(verb: str) -> None:
    """Says by a file of this name that it waits."""
    if (folder() / "wait").exists():
        (folder() / verb).touch()
        while (folder() / "wait").exists():
            time.sleep(0.01)
