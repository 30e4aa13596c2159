"""The constants of Berth that the proxy needs. A test compares each with Berth's own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

INSTANCE_LABEL = "berth.instance"
PROJECT_LABEL = "berth.project"
QUARANTINE_LABEL = "berth.quarantined"
RULES_LABEL = "berth.rules"
MEASURES_LABEL = "berth.measures"
GATEWAY_LABEL = "berth.gateway"
TRIAL_LABEL = "berth.trial"
HANDOVER_LABEL = "berth.handover"
CARRIER = ":memory"

TALK = ["/opt/gateway/bin/python3", "-I", "-S", "/opt/gateway/gateway/control/talk.py"]
"""The only program that Berth runs in a container, the gateway's."""

FIREWALL_IMAGE = "berth/firewall:latest"
DATA_PATH, SECRETS_PATH = "/data", "/run/secrets"
GATEWAY_PORT = 8080
GATEWAY_CPU_SHARES = 4096


class Kind(StrEnum):
    """The purpose of a container of Berth according to its labels."""

    AGENT = "agent"
    KEEPER = "keeper"
    CARRIER = "carrier"
    HANDOVER = "handover"
    MEASURES = "measures"
    RULES = "rules"
    GATEWAY = "gateway"
    TRIAL = "trial"


_OF_HELPERS = {
    RULES_LABEL: Kind.RULES,
    MEASURES_LABEL: Kind.MEASURES,
    GATEWAY_LABEL: Kind.GATEWAY,
    TRIAL_LABEL: Kind.TRIAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Identifies Berth's objects: by the instance, and the names that its operator has chosen."""

    instance: str = "berth"
    network: str = ""
    runtime: str = ""

    @property
    def name(self) -> str:
        """A pattern for the names of its containers and volumes. Compose's own names do not match it."""
        return rf"{re.escape(self.instance)}-[a-z0-9-]{{1,100}}"

    @property
    def hidden_name(self) -> str:
        """A pattern for the names of agents' containers: a digest, or before 0.2 the project's id."""
        return rf"{re.escape(self.instance)}-([0-9a-f]{{20}}|[0-9a-f-]{{36}})"

    @property
    def network_name(self) -> str:
        own = rf"{re.escape(self.instance)}-[a-zA-Z0-9-]{{1,100}}"
        return rf"{own}|{re.escape(self.network)}(-gateway|-exit|-trial|-gateway-trial)?" if self.network else own

    @property
    def chosen(self) -> str:
        """A pattern for the labels, with their values, by which Berth asks for this instance's objects."""
        own = "|".join(map(re.escape, (INSTANCE_LABEL, *_OF_HELPERS)))
        return rf"({own})={re.escape(self.instance)}|{re.escape(HANDOVER_LABEL)}={self._handed_over}"

    @property
    def _handed_over(self) -> str:
        return rf"({self.name}):(\d+|memory)"

    def kind_of(self, labels: Mapping[str, object], *, network: object = "none") -> Kind | None:
        """Returns the kind, or None if the object is not of this instance of Berth, or claims to be of two kinds.

        A keeper has no network. A container with one has the label of the quarantine from its image.
        """
        kinds = {kind for label, kind in _OF_HELPERS.items() if labels.get(label) == self.instance}
        if labels.get(INSTANCE_LABEL) == self.instance:
            kinds.add(Kind.KEEPER if labels.get(QUARANTINE_LABEL) and network == "none" else Kind.AGENT)
        handed_over = labels.get(HANDOVER_LABEL)
        if isinstance(handed_over, str) and re.fullmatch(self._handed_over, handed_over):
            kinds.add(Kind.CARRIER if handed_over.endswith(CARRIER) else Kind.HANDOVER)
        return kinds.pop() if len(kinds) == 1 else None
