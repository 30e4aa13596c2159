"""The settings of the process, from its environment. Settings that differ between projects are in their entries."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = 128
SHARE = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    host: str = "0.0.0.0"  # noqa: S104  # nosec B104 - in a container, whose networks say who can reach it
    port: int = 8080
    socket: Path = Path("/run/gateway/control.sock")
    state: Path = Path("/data")
    key_file: Path = Path("/run/secrets/gateway_key")

    control_host: str = "0.0.0.0"  # noqa: S104  # nosec B104 - every client must show a certificate
    control_port: int = 0
    """The port for a service that cannot reach the socket. 0 means none."""
    control_file: Path = Path("/run/secrets/gateway_control")
    """The gateway's own certificate and its key, in PEM format."""
    control_authorities: Path = Path("/run/secrets/gateway_authorities")
    """The certificates of the authorities that may sign for the service, in PEM format."""

    groups: Path | None = None
    """The node's /sys/fs/cgroup, from which agents' resource use is read."""

    grace: float = 10.0
    """Seconds for which an unknown credential is asked to retry, because its entry may be on its way."""

    connections: int = CONNECTIONS
    """Connections that one address may have open at a time."""

    @property
    def share(self) -> float:
        """Returns the share of the processor for receiving from one address; more if all agents use the same one."""
        return min(1.0, SHARE * self.connections / CONNECTIONS)

    last_answers: float = 2.0
    """Seconds that answers of providers get to end when the gateway is stopped. Polls continue meanwhile."""


def read_config(environment: Mapping[str, str] = os.environ) -> Config:
    """Raises ValueError if a setting that must be a number is not."""
    default = Config()
    return Config(
        host=environment.get("GATEWAY_HOST", default.host),
        port=int(environment.get("GATEWAY_PORT", default.port)),
        socket=Path(environment.get("GATEWAY_SOCKET", default.socket)),
        state=Path(environment.get("GATEWAY_STATE", default.state)),
        key_file=Path(environment.get("GATEWAY_KEY_FILE", default.key_file)),
        control_host=environment.get("GATEWAY_CONTROL_HOST", default.control_host),
        control_port=int(environment.get("GATEWAY_CONTROL_PORT", default.control_port)),
        control_file=Path(environment.get("GATEWAY_CONTROL_FILE", default.control_file)),
        control_authorities=Path(environment.get("GATEWAY_CONTROL_AUTHORITIES", default.control_authorities)),
        groups=Path(groups) if (groups := environment.get("GATEWAY_CGROUPS")) else None,
        grace=float(environment.get("GATEWAY_GRACE", default.grace)),
        last_answers=float(environment.get("GATEWAY_LAST_ANSWERS", default.last_answers)),
        connections=int(environment.get("GATEWAY_CONNECTIONS", default.connections)),
    )
