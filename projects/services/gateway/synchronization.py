"""Tells the gateway what the rows say: before a start, while a container is created, and after each change.

If the gateway cannot be reached, the change stays: an event reports it, and the watcher tells the gateway again until
it knows.
"""

import logging

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.errors import FirewallMissingError
from containers.gateway.entries import API_KEY as API_KEY_FORM
from containers.gateway.entries import BOT_TOKEN
from containers.gateway.protocol import WITHIN
from containers.gateway.vocabulary import Reach
from containers.processes.side_work import SideWork
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import GatewayOffError
from projects.models import Project
from projects.models.columns.credentials import API_KEY, TELEGRAM_TOKEN
from projects.models.columns.gateway import NEXT_VERSION, NOTHING_SEEN
from projects.models.event import SYSTEM
from projects.services.gateway.early_connection import remaining_time
from projects.services.gateway.entry import GatewayMessage, is_in_force, make_message, make_void, read_prices
from projects.services.gateway.entry_holders import note_void
from projects.services.gateway.provisioning import Place, ensure_gateway, find_gateway, knows_sources
from projects.services.gateway.sending import LATER, REFUSED, send_message
from projects.services.gateway.spending import read_spent
from projects.services.gateway.virtual_credentials import equip, goes_behind_gateway

log = logging.getLogger(__name__)

EVENT, NOT_TOLD = "gateway", "not told"
"""The action and the outcome of the event if the gateway could not be told."""

NOT_CONFINED = (
    "This agent may only reach the gateway, and the firewall that enforces that cannot be set here. Tell the staff."
)
UNREADABLE = "Its credentials cannot be read."
ON_REFUSAL = "What it was told before stays in force. Send the credentials again, or ask the staff."
MALFORMED = (
    "The stored {name} contains an invalid character, so the gateway does not accept it. Send it again in a change."
)
LATE = "It has not answered in time."
BROKE = "The question broke off; the log says why."


def prepare(project: Project, *, elsewhere: bool = False) -> Place | None:
    """Gives a container behind the gateway its address and virtual credentials. Returns None if it does not go there.

    `elsewhere`: the engine has just refused its address, so it needs another one.

    Raises `EngineError`, `SecretUnreadableError`, `NoCapacityError`, `GatewayOffError` and `ProjectGoneError`.
    """
    reach = Reach(project.egress)
    if not settings.BERTH_GATEWAY and reach is Reach.GATEWAY:
        raise GatewayOffError
    if not goes_behind_gateway(project):
        return None
    _check_credentials(project)
    place = ensure_gateway() if elsewhere else find_gateway()
    if reach is Reach.GATEWAY and not place.address.knows_sources:
        raise FirewallMissingError(NOT_CONFINED)
    equip(project, place, elsewhere=elsewhere)
    return place


@sensitive_variables()
def _check_credentials(project: Project) -> None:
    """Fails before anything is changed if the gateway would not take a credential, which may be from a former version.

    Raises `SecretUnreadableError`.
    """
    for field, name, form in ((TELEGRAM_TOKEN, "bot token", BOT_TOKEN), (API_KEY, "API key", API_KEY_FORM)):
        stored = project.decrypt_credential(field)
        if stored and not form.fullmatch(stored):
            raise SecretUnreadableError(MALFORMED.format(name=name))


def leave_gateway(project: Project) -> None:
    """Records that the new container has the real credentials, so its virtual ones are void."""
    if not project.is_behind_gateway:
        return
    Project.objects.filter(pk=project.pk).update(is_behind_gateway=False, **NEXT_VERSION, **NOTHING_SEEN)
    project.refresh_from_db(fields=["is_behind_gateway", "entry_version", *NOTHING_SEEN])
    notify_gateway(project)


class GatewayNotification:
    """Tells the gateway in a thread of its own, while the caller does something else."""

    def __init__(self, project: Project, place: Place | None = None) -> None:
        """Reads the rows in the caller's thread, and the gateway's place only if `place` is not given."""
        self._project = project
        self._message = _read_message(project, place)
        self._within = remaining_time(WITHIN)
        self._sending = SideWork(self._send)
        self._sending.begin()

    def finish(self) -> bool:
        """Waits for the result. Returns whether the gateway knows; if not, writes an event."""
        try:
            trouble = self._sending.result(self._within)
        except TimeoutError:
            trouble = LATE
        except Exception:
            log.exception("The gateway could not be told of %s.", self._project.container_name)
            trouble = BROKE
        return _note(self._project, self._message, trouble)

    def _send(self) -> str:
        return UNREADABLE if self._message is None else send_message(self._message, within=self._within)


def notify_gateway(project: Project) -> bool:
    """Tells the gateway the project's present state. Returns whether it knows; if not, writes an event.

    Does nothing if the gateway never had an entry of it. `project` must have been read after the change.
    """
    if not project.has_virtual_credentials:
        return True
    message = _read_message(project)
    return _note(project, message, UNREADABLE if message is None else send_message(message, within=WITHIN))


def _read_message(project: Project, place: Place | None = None) -> GatewayMessage | None:
    """Returns the message about the project, or None if its credentials cannot be read."""
    if not is_in_force(project):
        return make_void(project)
    try:
        spent, prices = read_spent([project]).get(project.pk, ()), read_prices()
        sources = place.address.knows_sources if place else knows_sources()
        return make_message(project, prices=prices, knows_sources=sources, spent=spent)
    except SecretUnreadableError:
        return None


def _note(project: Project, message: GatewayMessage | None, trouble: str) -> bool:
    if (
        trouble == LATER
        and message
        and Project.objects.filter(pk=project.pk, entry_version__gt=message.version).exists()
    ):
        return True  # another command has changed it since, and tells the new state
    if trouble:
        log.warning("The gateway could not be told of %s: %s", project.container_name, trouble)
        end = ON_REFUSAL if trouble.startswith(REFUSED) else "It is told again until it knows."
        detail = f"{trouble} {end}"
        project.event(SYSTEM, EVENT, NOT_TOLD, detail=detail).save()
    elif message and message.node and message.entry is None:
        note_void(project, node=message.node, version=message.version)
    return not trouble
