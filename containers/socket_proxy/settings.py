"""Reads the settings of the proxy and its health check from the environment."""

import os
from pathlib import Path

from containers.socket_proxy.constants import Scope


def listen_path() -> Path:
    return Path(os.environ.get("SOCKET_PROXY_LISTEN") or "/run/engine/docker.sock")


def engine_path() -> str:
    return os.environ.get("SOCKET_PROXY_ENGINE") or "/var/run/docker.sock"


def read_scope() -> Scope:
    """Returns the scope from the same variables that Berth uses."""
    return Scope(
        instance=os.environ.get("BERTH_INSTANCE") or "berth",
        network=os.environ.get("BERTH_CONTAINER_NETWORK", ""),
        runtime=os.environ.get("BERTH_CONTAINER_RUNTIME", ""),
    )
