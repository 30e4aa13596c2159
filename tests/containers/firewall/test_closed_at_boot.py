"""The boot unit, with real packets: bridges are closed until Berth has set the rules of each."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.firewall.boot import SCRIPT
from containers.firewall.rules import CLOSED, make_rules
from containers.firewall.script import as_script
from containers.programs import is_root
from tests.containers.firewall.router import GATEWAY, PORT, Router, make_router
from tests.paths import ROOT

can_filter = pytest.mark.skipif(
    not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
)
PUBLIC, PRIVATE, PUBLIC_6 = "11.1.2.3", "169.254.169.254", "2a01:5::5"


@pytest.fixture
def router() -> Iterator[Router]:
    with make_router() as made:
        yield made


def reached(router: Router) -> set[str]:
    answers = router.as_agent("knock", addresses=[PUBLIC, PRIVATE, PUBLIC_6], port=PORT)
    return {address for address, arrives in answers.items() if arrives}


def run(router: Router, script: str) -> str:
    done = subprocess.run(router.on("router", "sh"), input=script, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.docker
@can_filter
@pytest.mark.rare(1)
def test_no_packet_leaves_a_bridge_until_its_rules_are_set(router: Router) -> None:
    assert reached(router) == {PUBLIC, PRIVATE, PUBLIC_6}
    run(router, SCRIPT)
    assert reached(router) == set()
    # An engine or a firewall of the distribution that accepts everything comes later, and opens nothing.
    for program in ("iptables", "ip6tables"):
        for chain in ("FORWARD", "INPUT"):
            run(router, f"{program} -w -I {chain} 1 -j ACCEPT")
        run(router, f"{program} -w -t mangle -I PREROUTING 1 -j ACCEPT")
    assert reached(router) == set()
    run(router, as_script(make_rules(bridge="berth-of-others", allow=[], resolvers=[])))
    assert reached(router) == set()
    router.set_rules()
    assert reached(router) == {PUBLIC, PUBLIC_6}


@pytest.mark.docker
@can_filter
def test_repeated_runs_keep_one_rule_each_and_leave_open_bridges_open(router: Router) -> None:
    for _ in range(2):
        run(router, SCRIPT)
        router.set_rules()
    for program in ("iptables", "ip6tables"):
        rules = run(router, f"{program} -w -t raw -S").splitlines()
        assert [rule for rule in rules if "berth-" in rule or f"-A {CLOSED}" in rule] == [
            f"-A PREROUTING -i berth-+ -j {CLOSED}",
            f"-A {CLOSED} -i {router.bridge} -j RETURN",
            f"-A {CLOSED} -j DROP",
        ]
    assert reached(router) == {PUBLIC, PUBLIC_6}


@pytest.mark.docker
@can_filter
def test_other_networks_of_the_host_are_left_alone(router: Router) -> None:
    run(router, SCRIPT)
    done = subprocess.run(
        router.on("world", "busybox", "nc", "-w", "5", GATEWAY, "1"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    # The router answers its other neighbour that nobody listens there.
    assert b"refused" in done.stderr


def test_the_service_is_installed_with_every_file_that_it_names(tmp_path: Path) -> None:
    subprocess.run(
        [ROOT / "config/bin/install-service"],
        env={"DESTDIR": str(tmp_path), "PATH": "/usr/bin:/bin", "BERTH_DATA_DIR": str(tmp_path / "data")},
        check=True,
    )
    units = tmp_path / "etc/systemd/system"
    firewall, service = ((units / name).read_text() for name in ("berth-firewall.service", "berth.service"))
    assert (tmp_path / "usr/local/lib/berth/close-agents").read_text() == SCRIPT
    assert "ExecStart=/bin/sh /usr/local/lib/berth/close-agents\n" in firewall
    assert "Before=docker.service\n" in firewall
    assert "RequiredBy=docker.service\n" in firewall
    assert f"WorkingDirectory={ROOT}\n" in service
    assert "@" not in firewall + service
    settings = tmp_path / "etc/berth/environment"
    assert settings.read_text() == f"BERTH_DATA_DIR={tmp_path / 'data'}\n"
    assert settings.stat().st_mode & 0o777 == 0o600
    if program := shutil.which("systemd-analyze"):
        checked = subprocess.run(
            [program, "verify", "--man=no", units / "berth-firewall.service", units / "berth.service"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "berth" not in checked.stderr.replace(str(ROOT), ""), checked.stderr
