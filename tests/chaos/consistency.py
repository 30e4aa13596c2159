"""What must be true whenever no operation is under way: rows, engine and API agree."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.chaos.docker_instance import DockerInstance
from tests.chaos.server import Server
from tests.waiting import wait_until

UP = {"running", "paused", "restarting"}

Row = Mapping[str, Any]


def await_consistency(server: Server, docker_instance: DockerInstance) -> None:
    """Asserts it once no status is `unknown`, which one is while a busy engine does not answer a read."""
    [statuses] = wait_until(
        lambda: [found for found in [_read_statuses(server)] if "unknown" not in found.values()],
        what="A status stays unknown",
    )
    assert_consistent(_read_rows(server), statuses, docker_instance)


def assert_server_consistent(server: Server, docker_instance: DockerInstance) -> None:
    rows = _read_rows(server)
    assert_consistent(rows, _read_statuses(server), docker_instance)


def _read_rows(server: Server) -> list[Row]:
    rows: list[Row] = server.call("GET", "/chaos/rows").json["rows"]
    return rows


def _read_statuses(server: Server) -> dict[str, str]:
    return {project["id"]: project["status"] for project in server.call("GET", "/api/projects").json}


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
