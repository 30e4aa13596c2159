"""Has the gateway know what the rows say: before a start, while a container is made, and after each change.

Where it cannot be reached, what was done stays done: an event says so, and the watcher tells it again until it knows.
"""

import logging

from django.conf import settings

from containers.errors import FirewallMissingError
from containers.gateway.protocol import WITHIN
from containers.gateway.words import Reach
from containers.side_work import SideWork
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import GatewayOffError
from projects.models import Project
from projects.models.columns.behind_gateway import NEXT_VERSION, NOTHING_SEEN
from projects.models.columns.credentials import API_KEY, TELEGRAM_TOKEN
from projects.models.event import SYSTEM
from projects.services.gateway.entry import Word, is_in_force, make_void, make_word, read_prices
from projects.services.gateway.equipment import equip, is_to_go_behind
from projects.services.gateway.holders import note_void
from projects.services.gateway.place import Place, ensure_gateway, find_gateway, knows_sources
from projects.services.gateway.saying import LATER, say
from projects.services.gateway.spent import read_spent
from projects.services.gateway.way import time_for_it

log = logging.getLogger(__name__)

EVENT, NOT_TOLD = "gateway", "not told"
"""The action of the event where the gateway could not be told, and its outcome."""

NOT_CONFINED = (
    "This agent may reach the gateway alone, and the firewall that sees to that cannot be set here. Tell the staff."
)
UNREADABLE = "Its credentials cannot be read."
LATE = "It has not answered in time."
BROKE = "The question broke off; the log says why."


def prepare(project: Project, *, elsewhere: bool = False) -> Place | None:
    """What a container behind the gateway needs: an address and virtual credentials. None where it is to have none.

    `elsewhere`: the engine has just refused its address, so that it needs another one.

    Raises `EngineError`, `SecretUnreadableError`, `NoCapacityError`, `GatewayOffError` and `ProjectGoneError`.
    """
    reach = Reach(project.egress)
    if not settings.BERTH_GATEWAY and reach is Reach.GATEWAY:
        raise GatewayOffError
    if not is_to_go_behind(project):
        return None
    for field in (TELEGRAM_TOKEN, API_KEY):
        project.decrypt_credential(field)  # before anything is changed for a start that cannot be
    place = ensure_gateway() if elsewhere else find_gateway()
    if reach is Reach.GATEWAY and not place.address.knows_sources:
        raise FirewallMissingError(NOT_CONFINED)
    equip(project, place, elsewhere=elsewhere)
    return place


def leave_gateway(project: Project) -> None:
    """Notes that the new container has the real credentials, so that its virtual ones are void."""
    if not project.is_behind_gateway:
        return
    Project.objects.filter(pk=project.pk).update(is_behind_gateway=False, **NEXT_VERSION, **NOTHING_SEEN)
    project.refresh_from_db(fields=["is_behind_gateway", "entry_version", *NOTHING_SEEN])
    tell(project)


class Telling:
    """Tells the gateway in a thread of its own, while the caller does something else."""

    def __init__(self, project: Project, place: Place | None = None) -> None:
        """The rows are read here, in the caller's thread; where the gateway is, only without its `place`."""
        self._project = project
        self._word = _read_word(project, place)
        self._within = time_for_it(WITHIN)
        self._saying = SideWork(self._say)
        self._saying.begin()

    def finish(self) -> bool:
        """Returns whether the gateway knows. Where it does not, an event says so."""
        try:
            trouble = self._saying.result(self._within)
        except TimeoutError:
            trouble = LATE
        except Exception:
            log.exception("The gateway could not be told of %s.", self._project.container_name)
            trouble = BROKE
        return _note(self._project, self._word, trouble)

    def _say(self) -> str:
        return UNREADABLE if self._word is None else say(self._word, within=self._within)


def tell(project: Project) -> bool:
    """Tells the gateway what holds for the project now. Returns whether it knows. Nothing where it never heard of it.

    `project` is as it was read after the change. Where it cannot be told, an event says so.
    """
    if not project.has_virtual_credentials:
        return True
    word = _read_word(project)
    return _note(project, word, UNREADABLE if word is None else say(word, within=WITHIN))


def _read_word(project: Project, place: Place | None = None) -> Word | None:
    """None where its credentials cannot be read."""
    if not is_in_force(project):
        return make_void(project)
    try:
        spent, prices = read_spent([project]).get(project.pk, ()), read_prices()
        sources = place.address.knows_sources if place else knows_sources()
        return make_word(project, prices=prices, knows_sources=sources, spent=spent)
    except SecretUnreadableError:
        return None


def _note(project: Project, word: Word | None, trouble: str) -> bool:
    if trouble == LATER and word and Project.objects.filter(pk=project.pk, entry_version__gt=word.version).exists():
        return True  # another command has changed it since, and tells what holds now
    if trouble:
        log.warning("The gateway could not be told of %s: %s", project.container_name, trouble)
        detail = f"{trouble} It is told again until it knows."
        project.event(SYSTEM, EVENT, NOT_TOLD, detail=detail).save()
    elif word and word.node and word.entry is None:
        note_void(project, node=word.node, version=word.version)
    return not trouble
