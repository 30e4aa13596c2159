"""The one way that an agents' network has to a gateway on it. Pure, but for what this process has been told of."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Agents on the network may connect to this address and port, and those of the network `alone` to nothing else."""

    gateway: str
    port: int
    alone: str

    @property
    def answers(self) -> str:
        """The rule that lets the gateway's answers out, and nothing that it begins itself."""
        return (
            f"-s {self.gateway} -p tcp --sport {self.port} -m conntrack --ctstate ESTABLISHED --ctdir REPLY -j ACCEPT"
        )

    def opens(self, bridge: str) -> list[str]:
        """The rules that let agents on the bridge connect to it."""
        return [f"-o {bridge} -d {self.gateway} -p tcp --dport {self.port} -j ACCEPT", f"-o {bridge} {self.answers}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where the host itself lets agents in: at the gateway of a cluster's node, which listens on the bridge's own
    address."""

    address: str
    port: int

    @property
    def opens(self) -> str:
        return f"-d {self.address} -p tcp --dport {self.port} -j ACCEPT"


_known: dict[str, Passage] = {}


def note_passage(bridge: str, passage: Passage | None) -> None:
    """What the rules of the bridge are to let through from now on. None: there is no such bridge."""
    if passage is None:
        _known.pop(bridge, None)
    else:
        _known[bridge] = passage


def passage_of(bridge: str) -> Passage | None:
    return _known.get(bridge)
