"""The gateway can read all allowed hosts that the service sends."""

import pytest
from gateway.tunnels.target import read_host

from tests.projects.gateway.hosts import HOSTS

pytestmark = pytest.mark.one_database


def test_the_gateway_accepts_every_host_that_staff_may_allow() -> None:
    for told in HOSTS.values():
        found = read_host(told)
        assert found is not None, told
        assert f"{found.host}:{found.port}" in {told, f"{told}:443"}
