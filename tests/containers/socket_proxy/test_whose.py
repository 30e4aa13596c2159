"""Objects without Berth's labels are neither shown, nor changed, nor used."""

import json
from urllib.parse import quote

import pytest

from containers.socket_proxy.constants import TALK
from tests.containers.socket_proxy.made import changed, make_bodies
from tests.containers.socket_proxy.wire import (
    GATEWAY,
    OUR_NAME,
    OUR_NETWORK,
    OURS,
    RULES,
    THEIR_NETWORK,
    THEIR_VOLUME,
    THEIRS,
    Wire,
)

pytestmark = pytest.mark.one_database
V = "/v1.41"
NEXT = b"DELETE /v1.41/volumes/berth_postgres HTTP/1.1\r\nHost: x\r\n\r\n"
EXEC = {"Cmd": TALK, "WorkingDir": "/", "AttachStdin": True, "AttachStdout": True}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("HostConfig.NetworkMode", f"container:{OURS}"),
        ("HostConfig.NetworkMode", f"container:{RULES}"),
        ("HostConfig.NetworkMode", f"container:{THEIRS}"),
    ],
)
def test_a_network_is_borrowed_from_a_trial_alone(wire: Wire, path: str, value: str) -> None:
    assert wire.ask("POST", f"{V}/containers/create", changed(make_bodies()["agent of a trial"], path, value)) in {
        403,
        404,
    }
    assert wire.came == []


NOT_OURS = [
    *({"name": [each]} for each in ("berth-x", "^berth-x", "berth-x$", "/berth-x$", "^berth-x|.$", "^berth-.*$")),
    *({"label": [f"{each}"]} for each in (
        "berth.instance", "berth.gateway", "berth.instance=", "berth.instance=other", "berth.instance=berth\n",
        "berth.rules=other", "berth.handover=other-1:memory", "berth.project\n", "berth.user", "berth.x",
    )),
    {"label": ["x"], "name": ["^x$"]}, {"name": ["^berth-x$", "x"]}, {"type": ["container"]}, {"label!": ["x"]},
    {"label": {"berth.instance=berth": True}}, {"name": []}, {"label": []}, {"id": ["berth-x"]},
]  # fmt: skip
LISTED: list[dict[str, list[str]]] = [
    {"label": ["berth.gateway=berth"]}, {"label": ["berth.project=x", "berth.instance=berth"]},
    {"name": ["^berth-x$", "^/berth-y$"]},
]  # fmt: skip


@pytest.mark.parametrize("what", ["containers/json", "volumes", "events"])
def test_objects_of_berth_are_listed(wire: Wire, what: str) -> None:
    of_lists = [*LISTED[2:], {"label": ["berth.project"]}, {"label": ["berth.handover=berth-1:memory"]}]
    for by in [*LISTED[:2], *(of_lists if what != "events" else ())]:
        assert wire.ask("GET", f"{V}/{what}?filters={quote(json.dumps(by))}") == 200


ABOUT_ONE = [
    ("GET", "json"), ("GET", "logs"), ("GET", "stats"), ("GET", "archive?path=%2Fdata"),
    ("POST", "start"), ("POST", "stop"),
    ("POST", "unpause"), ("POST", "rename?name=berth-x"), ("DELETE", ""),
]  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize(("method", "verb"), ABOUT_ONE)
def test_a_foreign_container_is_a_404(wire: Wire, method: str, verb: str) -> None:
    for name in (THEIRS, "postgres", "gone"):
        assert wire.ask(method, f"{V}/containers/{name}/{verb}".rstrip("/")) == 404
    assert wire.came == []


def test_a_name_becomes_the_id_that_was_looked_at(wire: Wire) -> None:
    wire.ask("POST", f"{V}/containers/{OUR_NAME}/start")
    assert wire.came[0].startswith(f"POST {V}/containers/{OURS}/start HTTP/1.1".encode())


def test_a_place_that_no_container_has_is_given_up_on_a_network_of_berths(wire: Wire) -> None:
    """The engine has kept the endpoint of an ended container.
    For existing objects the proxy replaces names with ids."""
    gone = OUR_NAME.replace("0", "f")
    assert wire.ask("POST", f"{V}/networks/{OUR_NETWORK}/disconnect", {"Container": gone, "Force": True}) == 200
    assert gone.encode() in wire.came[-1]


def test_only_the_gateway_may_be_restarted_after_any_end(wire: Wire) -> None:
    policy = {"RestartPolicy": {"Name": "always", "MaximumRetryCount": 0}}
    assert wire.ask("POST", f"{V}/containers/{OURS}/update", policy) == 403
    body = changed(make_bodies()["agent"], "HostConfig.RestartPolicy", policy["RestartPolicy"])
    assert wire.ask("POST", f"{V}/containers/create?name={OUR_NAME}", body) == 403
    assert wire.came == []
    wire.ask("POST", f"{V}/containers/{GATEWAY}/update", policy)
    assert wire.came[0].startswith(f"POST {V}/containers/{GATEWAY}/update HTTP/1.1".encode())


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/containers/json", None), ("GET", "/containers/json?all=1", None), ("GET", "/volumes", None),
        ("GET", "/events", None), ("GET", "/containers/json?filters=%7B%7D", None),
        ("GET", '/containers/json?filters={"label":["com.docker"]}', None),
        ("GET", '/volumes?filters={"name":["x"]}', None),
        ("GET", '/volumes?filters={"name":["berth-1","x"]}', None),
        ("GET", '/events?filters={"label":"berth.project"}', None),
        *(
            ("GET", f"/{what}?filters={quote(json.dumps(by))}", None)
            for what in ("events", "containers/json", "volumes") for by in NOT_OURS
        ),
        *(
            ("GET", f"/events?filters={quote(json.dumps(by))}", None)
            for by in (LISTED[2], {"label": ["berth.project"]})
        ),
        ("DELETE", f"/volumes/{THEIR_VOLUME}", None), ("GET", f"/volumes/{THEIR_VOLUME}", None),
        ("GET", f"/networks/{THEIR_NETWORK}", None), ("DELETE", f"/networks/{THEIR_NETWORK}", None),
        ("DELETE", "/networks/bridge", None), ("POST", f"/networks/{THEIR_NETWORK}/connect", {"Container": OURS}),
        ("POST", f"/networks/{OUR_NETWORK}/connect", {"Container": THEIRS}),
        ("POST", "/networks/host/connect", {"Container": OURS}),
        ("POST", f"/networks/{OUR_NETWORK}/disconnect", {"Container": THEIRS}),
        ("POST", f"/networks/{OUR_NETWORK}/disconnect", {"Container": "postgres", "Force": True}),
        ("POST", f"/networks/{THEIR_NETWORK}/disconnect", {"Container": f"{OUR_NAME}-gone", "Force": True}),
        ("POST", f"/networks/{OUR_NETWORK}/connect", {"Container": OURS, "EndpointConfig": {"Aliases": ["x"]}}),
        ("POST", "/networks/create", {"Name": "berth-x", "Driver": "macvlan"}),
        ("POST", "/networks/create", {"Name": "berth-x"}),
        ("POST", f"/containers/{OURS}/update", {"Memory": 1 << 40}),
        ("POST", f"/containers/{OURS}/update", {"RestartPolicy": {"Name": "no", "MaximumRetryCount": 0}, "Memory": 0}),
        ("POST", f"/containers/{OURS}/update", {"Devices": []}),
        ("POST", f"/containers/{OURS}/rename?name=postgres", None),
        ("GET", f"/containers/{OURS}/archive?path=%2Fetc", None),
        ("POST", f"/containers/{OURS}/start?checkpoint=x", None),
        ("POST", f"/containers/{OURS}/exec", EXEC), ("POST", f"/containers/{THEIRS}/exec", EXEC),
        ("POST", f"/containers/{GATEWAY}/exec", {**EXEC, "Cmd": ["sh"]}),
        ("POST", f"/containers/{GATEWAY}/exec", {**EXEC, "Privileged": True}),
        ("POST", f"/containers/{GATEWAY}/exec", {**EXEC, "User": "0"}),
        ("POST", f"/containers/{GATEWAY}/exec", {**EXEC, "Env": ["A=b"]}),
        ("POST", f"/exec/{'f' * 64}/start", {"Detach": False, "Tty": False}),
        ("POST", "/containers/create?platform=x", {}), ("POST", "/containers/create?name=postgres", {}),
    ],
)  # fmt: skip
def test_objects_of_others_are_refused(wire: Wire, method: str, path: str, body: object) -> None:
    assert wire.ask(method, V + path, body) in {403, 404}
    assert wire.came == []
