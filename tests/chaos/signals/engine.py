"""An engine in memory whose work waits for as long as the file `wait` is there."""

import time
from typing import Any

from tests.chaos.database.engine import TalkativeEngine
from tests.chaos.inside.kill_points import folder


class HeldEngine(TalkativeEngine):
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
