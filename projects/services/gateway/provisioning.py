"""Finds and starts the gateway, and describes trouble with it."""

import base64
import logging
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Network

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from accounts.moments import is_recent
from containers.errors import EngineRefusedError, GatewayMissingError, GatewaySilentError
from containers.gateway.vocabulary import AgentsNetwork, GatewayAddress, GatewaySpec
from containers.get_engine import get_engine
from projects.models import AgentType, Gateway
from projects.rules.permissions import Egress

log = logging.getLogger(__name__)

CREDENTIAL_ALONE = (
    "The gateway does not see which agent asks, because the agents' firewall cannot be set: a virtual credential "
    "counts from anywhere."
)

DOES_NOT_WORK = (
    "The gateway does not work. Agents behind it reach nobody while it is down, and none is "
    "started without it; BERTH_GATEWAY=off starts them with their real credentials."
)

FORMER_GOES_ON = "The gateway cannot be replaced by another one, and the former one keeps running. What is wrong:"
"""The beginning of warnings while a former gateway still serves agents."""

ASTRAY = (
    "Agents' requests reach the gateway from {address}, which is not one of theirs, so it does not let them in: a NAT "
    "rule on the engine's host changes it. docs/operations.md says how to find it."
)
SOME_SILENT = (
    "The gateways of some nodes do not answer, so agents there reach nobody: {count} ({nodes}). docs/swarm.md says "
    "what to look at."
)
PARTLY = "The gateway is at work, but does not do all that it should."
"""The beginning of a warning that continues with the reason, such as a full disk."""
REFUSES_SOME = "The gateway refuses what it is told about some agents, and goes by what it knew before:"
"""The beginning of a warning that names the projects."""

NOT_DOWN = (FORMER_GOES_ON, REFUSES_SOME, PARTLY, ASTRAY.partition("{")[0], SOME_SILENT.partition("{")[0])
"""The beginnings of warnings about a gateway that still works."""

WITHOUT_GATEWAY = (
    "An agent type has its agents reach the gateway alone, and the gateway is switched off (BERTH_GATEWAY): none of "
    "them starts."
)

FOUND_FOR = timedelta(seconds=30)
"""How long a finding stays valid. The watcher looks every few seconds, so that a deploy need not."""


SILENT_FOR = timedelta(seconds=30)
"""How long only the watcher tries whether a silent gateway answers again, because each attempt may take twenty
seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    network: AgentsNetwork
    address: GatewayAddress


def find_gateway() -> Place:
    """Returns the gateway as the watcher last found it, or starts it.

    Raises `GatewayMissingError` if the engine cannot run it, which is not the fault of the agent to be started, and
    other `EngineUnavailableError`s.
    """
    row = _read_row()
    if (place := _found(row)) is not None:
        return place
    if row is not None and row.silent_at is not None and not _may_try(row):
        raise GatewayMissingError
    try:
        return ensure_gateway()
    except EngineRefusedError as error:
        log.warning("No agent is started, because the gateway does not run: %s", error)
        raise GatewayMissingError from error


def known_place() -> Place | None:
    """Returns the gateway as the watcher last found it, or None if that was too long ago."""
    return _found(_read_row())


def _read_row() -> Gateway | None:
    return Gateway.objects.filter(pk=settings.BERTH_INSTANCE).first()


def _found(row: Gateway | None) -> Place | None:
    if row is None or row.host is None or not is_recent(row.found_at, within=FOUND_FOR, now=clock.now()):
        return None
    return _read(row)


def _may_try(row: Gateway) -> bool:
    """Returns whether it is time to try a silent gateway again, and no other process does so."""
    if is_recent(row.silent_at, within=SILENT_FOR, now=clock.now()):
        return False
    here = Gateway.objects.filter(pk=row.pk, silent_at=row.silent_at)
    return bool(here.update(silent_at=clock.now()))


def ensure_gateway() -> Place:
    """Starts the gateway unless it runs, and records where it is. Raises `EngineError`."""
    engine = get_engine()
    network = engine.agents_network()
    try:
        address = engine.ensure_gateway(make_spec())
    except GatewaySilentError:
        Gateway.objects.update_or_create(pk=settings.BERTH_INSTANCE, defaults={"silent_at": clock.now()})
        raise
    found = {
        "subnet": str(network.subnet),
        "host": address.host,
        "port": address.port,
        "knows_sources": address.knows_sources,
        "found_at": clock.now(),
        "silent_at": None,
    }
    Gateway.objects.update_or_create(pk=settings.BERTH_INSTANCE, defaults=found)
    return Place(network=network, address=address)


def knows_sources() -> bool:
    """Returns whether the gateway sees from which agent's address a request comes. True until that is known."""
    here = Gateway.objects.filter(pk=settings.BERTH_INSTANCE, host__isnull=False)
    known: bool | None = here.values_list("knows_sources", flat=True).first()
    return True if known is None else known


def describe_trouble() -> str:
    """Returns what staff must know about the gateway in one sentence; empty if all is well."""
    if not settings.BERTH_GATEWAY and AgentType.objects.filter(egress=Egress.GATEWAY).exists():
        return WITHOUT_GATEWAY
    row = Gateway.objects.filter(pk=settings.BERTH_INSTANCE).first()
    if row is None:
        return ""
    if row.warning.startswith(NOT_DOWN):
        return row.warning
    if row.warning:
        return f"{DOES_NOT_WORK} What is wrong: {row.warning}"
    is_open = row.host is not None and not row.knows_sources and not settings.BERTH_GATEWAY_ON_EACH_NODE
    return CREDENTIAL_ALONE if is_open else ""


def is_in_trouble() -> bool:
    """Returns whether there is a warning about the gateway itself, and not only about a former one or some agents."""
    warned = Gateway.objects.filter(pk=settings.BERTH_INSTANCE).exclude(warning="")
    return warned.exclude(warning__startswith=FORMER_GOES_ON).exclude(warning__startswith=REFUSES_SOME).exists()


@sensitive_variables()
def make_spec() -> GatewaySpec:
    """Returns the gateway's specification. Its keys are derived from the service's, so there is no further secret."""
    return GatewaySpec(key="\n".join(map(_derive, settings.BERTH_ENCRYPTION_KEYS)))


@sensitive_variables()
def _derive(key: str) -> str:
    derived = HKDF(SHA256(), length=32, salt=None, info=b"berth gateway").derive(base64.urlsafe_b64decode(key))
    return base64.urlsafe_b64encode(derived).decode()


def _read(row: Gateway) -> Place:
    address = GatewayAddress(host=str(row.host), port=row.port, knows_sources=row.knows_sources)
    return Place(network=AgentsNetwork(subnet=IPv4Network(row.subnet)), address=address)
