"""The engine in memory runs a gateway in memory."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from ipaddress import IPv4Network

from containers.errors import (
    AddressUnusableError,
    EngineUnavailableError,
    FirewallMissingError,
    GatewaySilentError,
    ImageMissingError,
)
from containers.gateway.transport import NOT_THERE, Transport
from containers.gateway.vocabulary import AgentsNetwork, GatewayAddress, GatewaySpec, Reach
from containers.vocabulary import ContainerSpec, ContainerState, Observation
from tests.fakes.gateway import MemoryGateway
from tests.fakes.memory_container import MemoryContainer
from tests.fakes.memory_users import MemoryUsers

GATEWAY_IMAGE = "berth/gateway:this"


@dataclass(frozen=True)
class MemoryTransport:
    answer: Callable[[bytes], bytes]

    def exchange(self, line: bytes, *, within: float) -> bytes:
        return self.answer(line)

    def prepare(self, *, within: float) -> None:
        """Nothing has to be prepared."""


@dataclass
class GatewayContainer:
    """The gateway's container, as tests see it."""

    spec: GatewaySpec
    container_id: str = field(default_factory=lambda: secrets.token_hex(32))
    since: datetime = field(default_factory=lambda: datetime.now(UTC))
    is_up: bool = True


class RunsMemoryGateway(MemoryUsers):
    """`gateway_program` keeps the entries and answers; `gateway_container` is None if there is none.

    `subnet` may be changed, as if someone had removed the network. `taken` are foreign addresses on it. `knows_sources`
    is what the engine says about its firewall.
    """

    def reset(self) -> None:
        with self._changed:
            super().reset()
            self.images.add(GATEWAY_IMAGE)
            self.subnet = IPv4Network("172.30.0.0/16")
            self.has_network = False
            self.taken: set[str] = set()
            self.knows_sources = True
            self.gateway_program = MemoryGateway()
            self.gateway_container: GatewayContainer | None = None

    def agents_network(self) -> AgentsNetwork:
        self._enter("agents_network")
        self.has_network = True
        return AgentsNetwork(subnet=self.subnet)

    def find_agents_network(self) -> AgentsNetwork | None:
        self._enter("find_agents_network")
        return AgentsNetwork(subnet=self.subnet) if self.has_network else None

    def ensure_gateway(self, spec: GatewaySpec) -> GatewayAddress:
        self._enter("ensure_gateway")
        with self._changed:
            self.has_network = True
            warning = self._ensure_container(spec)
        self._answer("ensure_gateway")
        network = AgentsNetwork(subnet=self.subnet)
        host = network.gateway if self.knows_sources else network.host
        return GatewayAddress(host=str(host), knows_sources=self.knows_sources, warning=warning)

    def _ensure_container(self, spec: GatewaySpec) -> str:
        """Returns what is wrong if the running one continues instead of another."""
        there = self.gateway_container
        is_running = there is not None and there.is_up
        has_image = (spec.image or GATEWAY_IMAGE) in self.images
        if is_running and there is not None and (there.spec == spec or not has_image):
            return ""
        if not has_image:
            raise ImageMissingError("The gateway's image is not on the engine.")
        if not dict(spec.environment).get("GATEWAY_GRACE", "1").isdecimal():  # which its program cannot read
            if is_running:
                return "The new one does not start. The former one continues."
            raise GatewaySilentError("The gateway was started and does not answer.")
        self.gateway_container = GatewayContainer(spec)
        self.gateway_program.restart()
        return ""

    def gateway(self) -> Transport:
        return MemoryTransport(self._ask_gateway)

    def gateways(self) -> Mapping[str, Transport]:
        return {"": self.gateway()}

    def places(self) -> Mapping[str, str]:
        return {}

    def inspect_gateway(self) -> Observation | None:
        self._enter("inspect_gateway")
        with self._changed:
            found = self.gateway_container
            if found is None:
                return None
            seen = Observation(name="gateway", container_id=found.container_id, labels={}, state=ContainerState.RUNNING)
            return replace(
                seen,
                state=ContainerState.RUNNING if found.is_up else ContainerState.EXITED,
                exit_code=None if found.is_up else 137,
                oom_killed=False,
                restart_count=0,
                created_at=found.since,
                started_at=found.since,
            )

    def remove_gateway(self, *, state: bool = False) -> None:
        self._enter("remove_gateway")
        with self._changed:
            self.gateway_container = None
            if state:
                self.gateway_program = MemoryGateway()
        self._answer("remove_gateway")

    def stop_gateway(self) -> None:
        """Stops its container behind the service's back. Its data stay."""
        with self._changed:
            if self.gateway_container is not None:
                self.gateway_container.is_up = False

    def _ask_gateway(self, line: bytes) -> bytes:
        self._enter("gateway")
        with self._changed:
            if self.gateway_container is None or not self.gateway_container.is_up:
                raise EngineUnavailableError(NOT_THERE)
            answer = self.gateway_program.answer(line)
        self._answer("gateway")
        return answer

    def _settle_name(self, spec: ContainerSpec, retire: Callable[[Observation], None]) -> MemoryContainer:
        with self._changed:
            self._check_address(spec)
            return super()._settle_name(spec, retire)

    def _check_firewall(self, spec: ContainerSpec) -> None:
        if (self.firewall_required or spec.reach is Reach.GATEWAY) and self.firewall_warning:
            raise FirewallMissingError

    def _check_network(self, container: MemoryContainer) -> MemoryContainer:
        """Refuses to connect it, like an engine, to a network without such an address."""
        if container.spec is not None and container.has_drifted:
            self._check_address(container.spec)
        return container

    def _check_address(self, spec: ContainerSpec) -> None:
        """Refuses an address, like an engine, that it cannot give."""
        if spec.address is None:
            return
        if not AgentsNetwork(subnet=self.subnet).has(spec.address, spec.reach):
            raise AddressUnusableError("The agent's address is none of the agents' network.")
        taken = self.taken | {
            each.spec.address for each in self.containers.values() if each.spec and each.key != spec.key
        }
        if spec.address in taken:
            raise AddressUnusableError("Another agent has the address.")
