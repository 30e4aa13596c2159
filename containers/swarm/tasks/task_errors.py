"""Reads the error of a task that did not run. Pure."""

import re

from containers.errors import EngineRefusedError, ImageMissingError
from containers.swarm.tasks.tasks import Run

_HAS_RUN = re.compile(r"^task: non-zero exit")
"""The error of a task whose program has run and failed. Any other error kept the program from starting."""
_NO_IMAGE = re.compile(r"no such image|not found: manifest|pull access denied|manifest unknown", re.IGNORECASE)
_NO_ROOM = "insufficient resources"


def lacks_room(run: Run) -> bool:
    """Whether no node has enough free memory now."""
    return run.state == "pending" and _NO_ROOM in run.error


def has_run(run: Run) -> bool:
    """Whether its program was started and has ended."""
    return run.has_run and (run.state == "complete" or bool(_HAS_RUN.match(run.error)))


def refusal_of(run: Run) -> EngineRefusedError:
    """Returns the error that says why this task's program never ran."""
    if _NO_IMAGE.search(run.error):
        return ImageMissingError(f"The image is not on the node that was to run the agent: {run.error[:300]}")
    return EngineRefusedError(f"The Swarm could not start the agent: {run.error[:300]}")
