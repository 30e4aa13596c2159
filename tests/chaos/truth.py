"""What has to hold whenever everything has come to rest: the rows, the engine and the API say the same."""

from tests.chaos.corner import Corner
from tests.chaos.server import Server

UP = {"running", "paused", "restarting"}


def assert_at_rest(server: Server, corner: Corner) -> None:
    """No orphan, no duplicate, no stuck row, and every status is what the engine says."""
    rows = {row["id"]: row for row in server.call("GET", "/chaos/rows").json["rows"]}
    statuses = {project["id"]: project["status"] for project in server.call("GET", "/api/projects").json}
    containers, belong = corner.containers(), corner.projects()
    told = {"rows": rows, "statuses": statuses, "containers": containers, "volumes": corner.volumes()}
    assert [row for row in rows.values() if row["operation"]] == [], told
    assert statuses.keys() == rows.keys(), told
    assert len(set(belong)) == len(belong), told
    assert set(belong) <= rows.keys(), told
    names = {f"{corner.instance}-{project}" for project in rows}
    assert {volume.rpartition("-")[0] for volume in corner.volumes()} <= names, told
    for project, row in rows.items():
        state = containers.get(f"{corner.instance}-{project}")
        if row["desired"] == "running":
            assert (state, statuses[project]) in {("running", "running"), ("running", "starting")}, told
        else:
            assert row["desired"] == "stopped", told
            assert (state in UP, statuses[project]) == (False, "stopped"), told
