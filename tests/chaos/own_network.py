"""A separate network namespace for a command, in which nothing of the machine's network is touched."""

import os
import sys
from pathlib import Path

OUTER_NETWORK = "BERTH_TEST_OUTER_NETWORK"
"""The variable that says from which network namespace this process came into its own."""


def read_network() -> str:
    return str(Path("/proc/self/ns/net").readlink())


def is_in_own_network() -> bool:
    return os.environ.get(OUTER_NETWORK, read_network()) != read_network()


def enter_own_network(module: str) -> None:
    """Starts the module that this process runs again, in separate namespaces. Needs root and `unshare`."""
    if is_in_own_network():
        return
    os.environ[OUTER_NETWORK] = read_network()
    inside = f'ip link set lo up && exec {sys.executable} -m {module} "$@"'
    os.execvp("unshare", ["unshare", "--net", "--mount", "sh", "-c", inside, "sh", *sys.argv[1:]])
