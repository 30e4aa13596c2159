"""What keeps agents inside elsewhere and the engine in use cannot hold, for the first page of the admin."""

from typing import NamedTuple

from django.conf import settings

from containers.swarm.what_specs_hold import MEASURES
from projects.models import EngineHost


class Lack(NamedTuple):
    """No agent is started unless it is accepted. `loss` says what it means to do without."""

    word: str
    loss: str
    is_accepted: bool


def find_lacks(host: EngineHost | None) -> list[Lack]:
    """As the engine said when it was asked last. Of a word that this version does not know the loss is empty."""
    words = host.lacks.split() if host else []
    losses = {word: measure.loss for word, measure in MEASURES.items()}
    return [Lack(word, losses.get(word, ""), word in settings.BERTH_SWARM_ACCEPT) for word in words]
