"""Explains why an agent that should run does not, from its service and tasks: which node it has left or waits for.

This takes the place of the agent's own report, which does not exist while it does not run.
"""

from collections.abc import Callable, Collection

from containers.agent_reports import Waits
from containers.swarm.tasks.service_spec import COPIED_ON_LABEL, HOME_LABEL
from containers.swarm.tasks.tasks import UNPLACED, Service
from containers.vocabulary import AgentReport

FULL = "insufficient resources"
"""The error of a task for which a node that accepts tasks has no room, whether or not it may run there."""


def why_it_waits(
    service: Service, *, lost: Collection[str], moves_along: bool, takes_tasks: Callable[[str], bool]
) -> AgentReport | None:
    """Returns the reason as a report, or None. `lost` are the nodes that do not answer.

    `moves_along` is true if a driver makes states available on every node. `takes_tasks` says whether a node takes
    tasks, by its id; it is called only if the answer matters.
    """
    home = service.labels.get(HOME_LABEL) or service.labels.get(COPIED_ON_LABEL, "")
    former = next((run.node for run in service.runs if run.has_run), "")
    errors = [run.error for run in service.runs if run.is_wanted and run.state in UNPLACED and run.error]
    is_full = any(FULL in error for error in errors)
    if home and (home in lost or (errors and not (is_full and takes_tasks(home)))):
        return AgentReport(state="", code=str(Waits.HOME_AWAY))
    if former in lost:
        return AgentReport(state="", code=str(Waits.MOVES if moves_along else Waits.MOVES_WITHOUT_MEMORY))
    return AgentReport(state="", code=str(Waits.FOR_ROOM)) if errors else None
