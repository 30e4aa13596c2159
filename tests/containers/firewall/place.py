"""A router on which the firewall's rules are set and lost."""

import shutil
import subprocess
import sys

import pytest

from containers.firewall import iptables
from containers.programs import is_root
from tests.containers.firewall.losses import CLEAN, DOCKER, KNOCK, PRIVATE, PRIVATE_6
from tests.containers.firewall.router import Router

can_filter = pytest.mark.skipif(
    not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
)


class Place:
    """The router as the host of an engine, on which this process sets rules."""

    def __init__(self, router: Router) -> None:
        self.router = router

    def begin(self) -> None:
        self.run(f"{CLEAN}{DOCKER.format(bridge=self.router.bridge)}")
        assert iptables.apply_rules() is None
        assert iptables.rules_hold()

    def lose(self, script: str) -> None:
        for rules in self.router.rules():
            parent = "DOCKER-USER" if rules.program == "iptables" else "FORWARD"
            words = {
                "bridge": self.router.bridge,
                "chains": " ".join(rules.chains),
                "forwarded": rules.hooks[0].chain,
                "refused": next(iter(rules.chains)),
                "network": "10.0.0.0/8" if rules.program == "iptables" else "fc00::/7",
                "parent": parent,
                "rule": rules.hooks[0].rule,
                "host": f"INPUT {rules.hooks[1].rule}",
            }
            text = script
            for word, value in words.items():
                text = text.replace(f"{{{word}}}", value)
            self.run(f"program={rules.program}\n{text}")

    def run(self, script: str) -> None:
        done = subprocess.run(
            self.router.on("router", "sh", "-c", script), capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, (script, done.stderr)

    def reached(self) -> set[str]:
        command = self.router.on("agent", sys.executable, "-ISc", KNOCK, PRIVATE, PRIVATE_6)
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return set(done.stdout.split())
