"""Reads the gateway's containers from the engine's list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from containers.docker.gateway.payload import MADE_LABEL, TURNS_LABEL, WAY_LABEL, Way
from containers.identity import exit_network_name, gateway_network_name


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
    return Row(
        container_id=str(row["Id"]),
        name=str(row["Names"][0]).removeprefix("/"),
        state=str(row["State"]),
        made=str(row["Labels"].get(MADE_LABEL, "")),
        way=Way(row["Labels"].get(WAY_LABEL, Way.PASSAGE)),
        takes_turns=TURNS_LABEL in row["Labels"],
        networks=frozenset(row["NetworkSettings"]["Networks"]),
    )
