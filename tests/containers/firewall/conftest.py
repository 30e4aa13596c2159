"""A router for each module of tests, and its rules for each test."""

from collections.abc import Iterator

import pytest

from tests.containers.firewall.place import Place
from tests.containers.firewall.router import Router, make_router, work_on


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with make_router() as made:
        yield made


@pytest.fixture
def place(router: Router, monkeypatch: pytest.MonkeyPatch) -> Place:
    """`iptables` of this process changes the router."""
    work_on(router, monkeypatch)
    made = Place(router)
    made.begin()
    return made
