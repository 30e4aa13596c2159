"""Counts agents whose image is not the newest of their type, from rows that are already read."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from projects.models import AgentType, Project
from projects.rules.status.lifecycle import Desired


class OldImages(NamedTuple):
    """The number of a type's agents whose image differs from the one on the engine under the type's name."""

    agent_type: AgentType
    number: int


def find_old_images(types: Sequence[AgentType], projects: Iterable[Project]) -> list[OldImages]:
    """Counts them for types whose image is on the engine. Skips projects that were never deployed."""
    newest = {each.pk: each.image_id for each in types if each.image_id}
    owned = [each for each in projects if each.desired != Desired.DELETED and each.image_id]
    old = Counter(
        each.agent_type_id for each in owned if each.image_id != newest.get(each.agent_type_id, each.image_id)
    )
    return [OldImages(each, old[each.pk]) for each in types if old[each.pk]]
