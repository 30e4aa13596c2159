"""The words in which Berth and a container engine speak of the gateway and of the network on which agents reach it."""

from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network

MEBIBYTE = 1024 * 1024

PORT = 8080
"""Where the gateway listens for agents."""


ADDRESS_LABEL = "berth.address"
"""The label of a container that holds the agent's own address, where it has one."""


class Reach(StrEnum):
    """Where an agent may send packets: to the internet and the gateway, or to the gateway alone, names included."""

    INTERNET = "internet"
    GATEWAY = "gateway"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySpec:
    """Everything from which the gateway's container is made.

    `key` is the content of its key file: Fernet keys, one in each line, of which the first one encrypts. `image` is
    empty for the one that this version of Berth builds. `memory` is in bytes, `nano_cpus` in billionths of a core.
    `environment` holds nothing secret.
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

    `warning`: why not the one that was asked for is at work but the one before it; empty where it is.

    `knows_sources`: it sees from which agent's address a request comes. Where the engine's firewall cannot be set it
    does not: then entries have no address, and the credential alone counts.

    `nodes`: the ids of all nodes that there are, of which those `without` run no gateway. Empty on a single host.
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
    """The network of the agents that have an address of their own, and which addresses may be given to them.

    The first quarter is the engine's, for what has no fixed address. The second one is for agents that reach the
    gateway alone, and the upper half for all others: so the firewall needs one rule, however many agents there are.
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
        """From where the engine takes an address for a container that has no fixed one."""
        return next(next(self.subnet.subnets()).subnets())

    def addresses(self, reach: Reach) -> IPv4Network:
        """Those that agents of this reach may have, but for the first and the last one."""
        lower, upper = self.subnet.subnets()
        return upper if reach is Reach.INTERNET else list(lower.subnets())[1]

    def has(self, address: str, reach: Reach) -> bool:
        """Whether an agent of this reach may have the address. One of a former network may lie elsewhere."""
        allowed = self.addresses(reach)
        try:
            found = IPv4Address(address)
        except ValueError:
            return False
        return found in allowed and found not in {allowed.network_address, allowed.broadcast_address}
