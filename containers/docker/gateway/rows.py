"""Reads the gateway's containers from the engine's list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from containers.docker.gateway.payload import LABEL, MADE_LABEL, TURNS_LABEL, WAY_LABEL, Way
from containers.identity import exit_network_name, gateway_name, gateway_network_name, is_our_helper


@dataclass(frozen=True, slots=True)
class Row:
    """A container of the gateway."""

    container_id: str
    name: str
    state: str
    made: str
    way: Way
    takes_turns: bool
    networks: frozenset[str]

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def is_restarting(self) -> bool:
        return self.state == "restarting"

    @property
    def is_at_work(self) -> bool:
        return self.is_running and self.is_on_its_networks

    def is_as_wanted(self, made: str) -> bool:
        return self.is_at_work and self.made == made

    @property
    def is_on_its_networks(self) -> bool:
        return {exit_network_name(), gateway_network_name()} <= self.networks


def read_row(row: Mapping[str, Any]) -> Row:
    labels = row["Labels"]
    return Row(
        container_id=str(row["Id"]),
        name=_name_of(row),
        state=str(row["State"]),
        made=labels.get(MADE_LABEL, ""),
        way=Way.PORT if labels.get(WAY_LABEL) == Way.PORT else Way.PASSAGE,
        takes_turns=bool(labels.get(TURNS_LABEL)),
        networks=frozenset(row["NetworkSettings"]["Networks"]),
    )


def is_gateway(row: Mapping[str, Any]) -> bool:
    """Returns whether this is a container of our gateway, which receives credentials.

    Its labels do not prove that, because an image can have them. Its name and the network that it was created on do:
    only Berth chooses them. Either is enough, because people rename containers and operators rename networks.
    """
    made_on = (row.get("HostConfig") or {}).get("NetworkMode")
    is_proven = _name_of(row).startswith(f"{gateway_name()}-") or made_on == exit_network_name()
    return is_proven and is_our_helper(row["Labels"] or {}, LABEL)


def _name_of(row: Mapping[str, Any]) -> str:
    return str(row["Names"][0]).removeprefix("/")
