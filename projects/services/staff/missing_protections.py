"""Protections of agents that the engine in use lacks, for the first page of the admin."""

from typing import NamedTuple

from django.conf import settings

from containers.swarm.confinement.missing_protections import MEASURES
from projects.models import EngineHost


class MissingProtection(NamedTuple):
    """A missing protection. No agent is started unless it is accepted. `loss` says what its absence means."""

    word: str
    loss: str
    is_accepted: bool


def find_missing_protections(host: EngineHost | None) -> list[MissingProtection]:
    """Returns what the engine lacked when it was last asked. `loss` is empty for words that this version lacks."""
    words = host.lacks.split() if host else []
    losses = {word: measure.loss for word, measure in MEASURES.items()}
    return [MissingProtection(word, losses.get(word, ""), word in settings.BERTH_SWARM_ACCEPT) for word in words]
