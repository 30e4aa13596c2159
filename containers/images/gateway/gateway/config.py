"""The settings of the process, from its environment. What differs between projects is in their entries."""

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

    control_host: str = "0.0.0.0"  # noqa: S104  # nosec B104 - whoever comes there must show a certificate
    control_port: int = 0
    """Where the service comes that has no way to the socket. 0: nowhere."""
    control_file: Path = Path("/run/secrets/gateway_control")
    """The gateway's own certificate and its key, as PEM."""
    control_authorities: Path = Path("/run/secrets/gateway_authorities")
    """The certificates of those who may say who the service is, as PEM."""

    groups: Path | None = None
    """The node's /sys/fs/cgroup, which says what agents use."""

    grace: float = 10.0
    """Seconds for which an unknown credential is asked to come again, as its entry may be on its way."""

    connections: int = CONNECTIONS
    """Connections that one address may have open at a time."""

    @property
    def share(self) -> float:
        """Of the processor, for taking in what comes from one address: more where all agents come from one."""
        return min(1.0, SHARE * self.connections / CONNECTIONS)

    last_answers: float = 2.0
    """Seconds that answers of providers have to end when the gateway is stopped. Polls go on meanwhile."""


def read_config(environment: Mapping[str, str] = os.environ) -> Config:
    """Raises ValueError for a number that is none."""
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
