"""The proxy lets through what `docs/socket-proxy.md` lists, and nothing else of the engine's API."""

import re
from itertools import product

import pytest

from containers.socket_proxy.routes import ROUTES, find_route
from tests.containers.socket_proxy.engines_api import METHODS, PATHS
from tests.paths import ROOT

LISTED = {(route.method, route.path) for route in ROUTES}
VERSIONS = ("/v1.41", "/v1.44", "/v1.99")
NO_VERSIONS = ("", "/v1.40", "/v1.9", "/v2.41", "/v1.41.0", "/v1.4100", "/V1.41", "//v1.41", "/v1.41/", "/v1.41/v1.41")

pytestmark = pytest.mark.one_database


def shape_of(path: str) -> str:
    """Returns `/containers/{id}/json` for `/containers/x/json`."""
    path = re.sub(r"^/(containers|exec)/x(?=/|$)", r"/\1/{id}", path)
    path = re.sub(r"^/images/a/b:c/", "/images/{name}/", path)
    return re.sub(r"^/(networks|volumes)/x(?=/|$)", r"/\1/{name}", path)


def test_the_document_lists_every_allowed_call() -> None:
    text = (ROOT / "docs/socket-proxy.md").read_text()
    assert set(re.findall(r"^\| (GET|POST|PUT|DELETE) \| `(/[^`]+)` \|$", text, re.MULTILINE)) == LISTED


def test_every_path_of_the_engines_api_is_refused_but_those() -> None:
    let_through = {
        (method, shape_of(path))
        for method, path, version in product(METHODS, PATHS, VERSIONS)
        if find_route(method, path if path == "/version" else version + path)
    }
    assert let_through == LISTED


def test_nothing_goes_through_without_a_version_that_berth_speaks() -> None:
    found = {
        (version, path)
        for version in NO_VERSIONS
        for path in PATHS
        for method in METHODS
        if find_route(method, version + path)
    }
    assert found == {("", "/version")}


@pytest.mark.parametrize("end", ["/", "/x", "?", "%2f", "/../x", "\n", " ", ";x"])
def test_nothing_may_stand_behind_a_path(end: str) -> None:
    for route in ROUTES:
        found = find_route(route.method, f"/v1.41{name_in(route.path)}{end}")
        assert found is None or found[0] is not route


def name_in(path: str) -> str:
    return re.sub(r"\{\w+\}", "x", path)


@pytest.mark.parametrize("name", ["", ".", "..", "-x", "a/b", "a%2fb", "a b", "ä", "x" * 256, "create", "prune"])
def test_a_name_is_a_name(name: str) -> None:
    for route in ROUTES:
        if "{" in route.path and "/images/" not in route.path:
            path = "/v1.41" + re.sub(r"\{\w+\}", lambda _: name, route.path)
            found = find_route(route.method, path)
            assert found is None or found[0].path != route.path or name in {"create", "prune"}
