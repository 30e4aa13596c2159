"""The openings in the rules through which agents reach their gateway, and the passages that this process knows."""

from dataclasses import dataclass

from containers.firewall.listed_form import as_listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Agents on the network may connect to this address and port. Those in the subnet `alone` reach nothing else.

    `published` is the host's address on the network if the gateway began without rules: then its agents know it by the
    same port there.
    """

    gateway: str
    port: int
    alone: str
    published: str = ""

    @property
    def answers(self) -> str:
        """The rule that lets the gateway's answers out, but no connections of its own."""
        return self._answers()

    @property
    def exceptions(self) -> list[tuple[str, int | None]]:
        """What agents outside of `alone` may reach although it is private."""
        return [(self.published, self.port)] if self.published else []

    def opens(self, bridge: str) -> list[str]:
        """Returns the rules that let agents on the bridge connect to the gateway."""
        to_it = f"-d {as_listed(self.gateway)} -o {bridge} -p tcp -m tcp --dport {self.port} -j ACCEPT"
        return [to_it, self._answers(f"-o {bridge} ")]

    def _answers(self, way: str = "") -> str:
        reply = "-m conntrack --ctstate ESTABLISHED --ctdir REPLY -j ACCEPT"
        return f"-s {as_listed(self.gateway)} {way}-p tcp -m tcp --sport {self.port} {reply}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """An opening on the host itself: a cluster node's gateway listens on the bridge's own address."""

    address: str
    port: int

    @property
    def opens(self) -> str:
        return f"-d {as_listed(self.address)} -p tcp -m tcp --dport {self.port} -j ACCEPT"


_known: dict[str, Passage] = {}


def note_passage(bridge: str, passage: Passage | None) -> None:
    """Notes the traffic that the bridge's rules must let through from now on. None means that the bridge is missing."""
    if passage is None:
        _known.pop(bridge, None)
    else:
        _known[bridge] = passage


def passage_of(bridge: str) -> Passage | None:
    return _known.get(bridge)
