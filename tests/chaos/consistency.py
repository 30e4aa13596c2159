"""What must be true whenever no operation is under way: rows, engine and API agree."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.chaos.docker_instance import DockerInstance
from tests.chaos.server import Server
from tests.waiting import wait_until

UP = {"running", "paused", "restarting"}

Row = Mapping[str, Any]


def assert_server_consistent(server: Server, docker_instance: DockerInstance) -> None:
    """A status may be `unknown` for as long as a busy engine does not answer a read."""
    [statuses] = wait_until(lambda: _known_statuses(server), what="A status stays unknown")
    rows = server.call("GET", "/chaos/rows").json["rows"]
    assert_consistent(rows, statuses, docker_instance)


def _known_statuses(server: Server) -> list[dict[str, str]]:
    """Returns the statuses, or nothing if one of them is unknown."""
    statuses = {project["id"]: project["status"] for project in server.call("GET", "/api/projects").json}
    return [] if "unknown" in statuses.values() else [statuses]


def assert_consistent(rows: Iterable[Row], statuses: Mapping[str, str], docker_instance: DockerInstance) -> None:
    """Asserts that there is no orphan, duplicate or stuck row, and that every status is the engine's."""
    known = {str(row["id"]): row for row in rows}
    containers, belong, volumes = (
        docker_instance.states(),
        docker_instance.projects(),
        docker_instance.volume_projects(),
    )
    told = {"rows": known, "statuses": statuses, "containers": containers, "volumes": volumes}
    assert [row for row in known.values() if row["operation"]] == [], told
    assert statuses.keys() == known.keys(), told
    assert len(set(belong)) == len(belong), told
    assert set(belong) <= known.keys(), told
    assert volumes <= known.keys(), told
    for project, row in known.items():
        state = containers.get(project, "")
        assert is_true(statuses[project], row, state), (project, told)


def is_true(status: str, row: Row, state: str) -> bool:
    if row["desired"] == "stopped":
        return state not in UP and status == "stopped"
    if state == "running" and row.get("seen_code") == "unresponsive":
        # A stub never polls Telegram, and a gateway that lived through a long fault reports that.
        return row["desired"] == "running" and status == "degraded"
    if state == "running":
        return row["desired"] == "running" and status in {"running", "starting"}
    # A start that the engine refused is not tried again until the owner asks for it.
    return row["desired"] == "running" and bool(row["failure_code"]) and state not in UP and status == "failed"
