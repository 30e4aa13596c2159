"""The data types that Berth and a container engine share about the gateway and the network on which agents reach it."""

from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network

MEBIBYTE = 1024 * 1024

PORT = 8080
"""The port on which the gateway listens for agents."""


ADDRESS_LABEL = "berth.address"
"""The label of a container with the agent's fixed address, if it has one."""


class Reach(StrEnum):
    """Where an agent may send packets: to the internet and the gateway, or only to the gateway, even for names."""

    INTERNET = "internet"
    GATEWAY = "gateway"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySpec:
    """Everything that defines the gateway's container.

    `key` is the content of its key file: Fernet keys, one in each line; the first one encrypts. `image` is empty for
    the image that this version of Berth builds. `memory` is in bytes, `nano_cpus` in billionths of a core.
    `environment` contains no secrets.
    """

    key: str = field(repr=False)
    image: str = ""
    memory: int = 512 * MEBIBYTE
    nano_cpus: int = 1_000_000_000
    pids: int = 64
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayAddress:
    """Where agents reach the gateway.

    `warning`: why the old gateway is still at work instead of the wanted one; empty if the wanted one is.

    `knows_sources`: it sees from which agent's address a request comes. If the engine's firewall cannot be set, it does
    not: then entries have no address, and only the credential counts.

    `nodes`: the ids of all nodes. Those in `without` run no gateway. Empty on a single host.
    """

    host: str
    port: int = PORT
    knows_sources: bool = True
    warning: str = ""
    nodes: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsNetwork:
    """The network of agents with a fixed address, and the addresses that they may get.

    The engine uses the first quarter for containers without a fixed address. The second quarter is for agents that may
    reach only the gateway, and the upper half for all others, so that the firewall needs one rule for any number of
    agents.
    """

    subnet: IPv4Network

    @property
    def host(self) -> IPv4Address:
        """The bridge's own address on the engine's host."""
        return self.subnet[1]

    @property
    def gateway(self) -> IPv4Address:
        return self.subnet[2]

    @property
    def for_engine(self) -> IPv4Network:
        """The range from which the engine assigns addresses to containers without a fixed one."""
        return next(next(self.subnet.subnets()).subnets())

    def addresses(self, reach: Reach) -> IPv4Network:
        """Returns the range for agents of this reach. Its first and last address are not used."""
        lower, upper = self.subnet.subnets()
        return upper if reach is Reach.INTERNET else list(lower.subnets())[1]

    def has(self, address: str, reach: Reach) -> bool:
        """Returns whether an agent of this reach may have the address. An address of a former network may not fit."""
        allowed = self.addresses(reach)
        try:
            found = IPv4Address(address)
        except ValueError:
            return False
        return found in allowed and found not in {allowed.network_address, allowed.broadcast_address}
