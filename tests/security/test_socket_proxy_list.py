"""Each call of docker-py in the service's source is in the list of `docs/socket-proxy.md`."""

import re

from tests.paths import ROOT
from tests.security.test_socket_proxy import LISTED

ONE, NAMED = "/containers/{id}", "/networks/{name}"
PATHS = {
    "ping": "GET /_ping", "info": "GET /info", "containers": "GET /containers/json",
    "create_container_from_config": "POST /containers/create", "inspect_container": f"GET {ONE}/json",
    "logs": f"GET {ONE}/logs", "stats": f"GET {ONE}/stats", "put_archive": f"PUT {ONE}/archive",
    "put_pieces": f"PUT {ONE}/archive", "start": f"POST {ONE}/start", "stop": f"POST {ONE}/stop",
    "unpause": f"POST {ONE}/unpause", "update_container": f"POST {ONE}/update",
    "update_limits": f"POST {ONE}/update", "rename": f"POST {ONE}/rename",
    "remove_container": f"DELETE {ONE}", "inspect_image": "GET /images/{name}/json",
    "inspect_network": f"GET {NAMED}", "create_network_from": "POST /networks/create",
    "connect_container_to_network": f"POST {NAMED}/connect",
    "disconnect_container_from_network": f"POST {NAMED}/disconnect", "volumes": "GET /volumes",
    "remove_network": f"DELETE {NAMED}", "inspect_volume": "GET /volumes/{name}",
    "remove_volume": "DELETE /volumes/{name}",
}  # fmt: skip
BESIDE = {"top", "images", "networks", "remove_image"}  # commands ask for them: the text below the list names these
WITHOUT_PATH = {"open_stream", "open_socket"}  # these are told it; `test_socket_proxy` sees which


def test_every_call_of_the_source_is_in_the_document() -> None:
    others = (ROOT / "containers/docker_api" / each for each in ("stats.py", "building/image_build.py"))
    files = [*(ROOT / "containers/docker").rglob("*.py"), *others]
    source = "".join(path.read_text() for path in files)
    called = set(re.findall(r"\bclient\.(\w+)\(", source)) - WITHOUT_PATH - BESIDE
    assert called == set(PATHS)
    assert {PATHS[name] for name in called} <= {" ".join(entry) for entry in LISTED}
