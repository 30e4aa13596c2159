"""An engine in memory whose operations wait as long as the file `wait` exists."""

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
"""Seconds for a request and an operation, instead of half a minute: the speed of the machine is not tested."""

middleware.OUTSIDE_WITHIN = middleware.DATABASE_WITHIN = limits.REQUEST = limits.ANSWER = PATIENCE
assert operations.time_allowed.__kwdefaults__
operations.time_allowed.__kwdefaults__["seconds"] = PATIENCE


class HeldEngine(TalkativeEngine):
    """The watcher has a separate, empty one, so it repairs nothing."""

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
    """Creates a file of this name while it waits."""
    if (folder() / "wait").exists():
        (folder() / verb).touch()
        while (folder() / "wait").exists():
            time.sleep(0.01)
