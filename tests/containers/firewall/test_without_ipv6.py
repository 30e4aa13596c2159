"""Scripts that set rules on a host whose kernel has no IPv6 (`ipv6.disable=1`), where ip6tables fails."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from containers.docker.networks import rules_container
from containers.docker_api.client import Connection
from containers.firewall import jumps
from containers.firewall.rules import leads_to_rules
from containers.firewall.script import as_script
from containers.programs import is_root
from tests.containers.firewall.router import PORT, Router, make_router
from tests.containers.firewall.test_node_script import write_script

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(
        not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
    ),
]

FILE = "/proc/net/if_inet6"
"""The kernel has it if it supports IPv6."""

FAILS = """#!/bin/sh
echo "ip6tables: can't initialize ip6tables table: Address family not supported by protocol" >&2
exit 3
"""


class Host:
    """A router without IPv6."""

    def __init__(self, router: Router, programs: Path) -> None:
        self.router = router
        self._environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def sh(self, script: str, *words: str) -> str:
        command = self.router.on("router", "sh", "-c", script.replace(FILE, "/nowhere"), "sh", *words)
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    for name in ("ip6tables", "ip6tables-restore"):
        (tmp_path / name).write_text(FAILS)
        (tmp_path / name).chmod(0o755)
    with make_router() as router:
        yield Host(router, tmp_path)


def _by_the_operator(host: Host, _path: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    host.sh(as_script(host.router.rules()))


def _on_a_node(host: Host, path: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    host.sh(write_script(path, host.router).read_text(), "rules")


def _through_the_engine(host: Host, _path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_connection: Connection, script: str, *, network: str) -> str:
        return host.sh(script) if network == "host" else ""

    def rules_for(_bridge: str, **options: Any) -> Any:
        return host.router.rules(**options)

    monkeypatch.setattr(rules_container, "run_helper", run)
    monkeypatch.setattr(rules_container, "rules_for", rules_for)
    monkeypatch.setattr(rules_container, "bridges_to_guard", lambda: [host.router.bridge])
    monkeypatch.setattr(rules_container, "inspect_image", lambda *_: {})
    monkeypatch.setattr(rules_container, "remove_left_behind", lambda _: None)
    rules_container.set_rules(Connection())


@pytest.mark.parametrize("set_rules", [_by_the_operator, _on_a_node, _through_the_engine])
def test_rules_are_set_where_there_is_no_ipv6(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_rules: Callable[..., None]
) -> None:
    assert host.router.as_agent("knock", addresses=["10.1.2.3"], port=PORT) == {"10.1.2.3": True}
    set_rules(host, tmp_path, monkeypatch)
    assert host.router.as_agent("knock", addresses=["10.1.2.3"], port=PORT) == {"10.1.2.3": False}
    monkeypatch.setattr(jumps, "run_program", lambda name, *words, **_: host.sh(" ".join([name, *words])))
    assert leads_to_rules(jumps.list_chains("iptables"), host.router.rules()[0])
