"""Which agents run an image that is not the newest of their type, from rows that were read already."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from projects.models import AgentType, Project
from projects.rules.status.lifecycle import Desired


class OldImages(NamedTuple):
    """How many agents of a type have another image than the one that the engine has under its name."""

    agent_type: AgentType
    number: int


def find_old_images(types: Sequence[AgentType], projects: Iterable[Project]) -> list[OldImages]:
    """Of the types whose image is on the engine. What was never deployed takes the newest."""
    newest = {each.pk: each.image_id for each in types if each.image_id}
    owned = [each for each in projects if each.desired != Desired.DELETED and each.image_id]
    old = Counter(
        each.agent_type_id for each in owned if each.image_id != newest.get(each.agent_type_id, each.image_id)
    )
    return [OldImages(each, old[each.pk]) for each in types if old[each.pk]]
