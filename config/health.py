"""Health checks: whether the process, the database, the engine and the watcher work."""

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.utils import Error
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from accounts.http import is_on_this_machine
from config.database.faults import Fault, find_fault
from config.database.limits import time_limit
from config.draining import DRAIN
from containers.errors import EngineError
from containers.get_engine import get_engine
from projects.models import Installation, Watch
from projects.models.installation import read_hold
from projects.models.processes.watcher import is_beating, read_heartbeat
from projects.services.credentials.shared_keys import find_unshared_key
from projects.services.gateway.provisioning import is_in_trouble

HELD = "held: nothing is repaired until an operator decides. The first page of the admin and the log say why."

VERSION_HEADER = "X-Berth-Version"

DATABASE_LIMIT = 3.0
"""Seconds for the database. The engine has the two seconds of a read."""

OK, UNAVAILABLE, MISSING, ENDING, DIFFER = "ok", "unavailable", "missing", "ending", "differ"
REPLACED = "replaced"
"""Someone has put another SQLite file in the place of the database, or removed it. Only a restart opens that one."""
_WORDS = {Fault.READ_ONLY: "read-only", Fault.BUSY: "busy", Fault.FULL: "full", Fault.REPLACED: REPLACED}


@csrf_exempt
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answers 200. Asks neither database nor engine, so that their trouble never restarts this process.

    The version is reported on this machine only: strangers could look up its vulnerabilities.
    """
    version = {VERSION_HEADER: settings.BERTH_VERSION} if is_on_this_machine(request) else {}
    return JsonResponse({"status": OK}, headers=version)


@csrf_exempt
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """Answers 200 if everything that requests need works, else 503. The body names each part.

    The parts: the database accepts changes, the engine answers, a watcher is at work (here or elsewhere), and this
    server is not about to stop and has the same keys as the others. A watcher is not mentioned if none has ever run.
    The body also reports, without details because anyone may ask, that nothing is repaired until an operator decides,
    that the agents' firewall is not in force, or that the gateway does not work. The service continues then,
    and must get requests.
    """
    parts = {"database": _ask_database(), "engine": _ask_engine()}
    if DRAIN.has_begun:
        parts["server"] = ENDING
    if parts["database"] == OK:
        parts |= _ask_watcher() | _compare_keys()
    ready = all(word == OK for word in parts.values())
    if parts["database"] == OK and _is_held():
        parts["mending"] = HELD
    if parts["database"] == OK and _lacks_firewall():
        parts["firewall"] = MISSING
    if parts["database"] == OK and _lacks_gateway():
        parts["gateway"] = UNAVAILABLE
    return JsonResponse({"status": OK if ready else UNAVAILABLE, **parts}, status=200 if ready else 503)


@csrf_exempt
@require_safe
def readyz_of_server(_request: HttpRequest) -> JsonResponse:
    """Reports this server alone, for a proxy that chooses between several: 503 once it is about to stop.

    A fault that all servers share, such as a silent engine, must not take all of them out of the proxy. Nothing is
    asked, so this answers at once.
    """
    word = ENDING if DRAIN.has_begun else OK
    return JsonResponse({"status": word}, status=503 if DRAIN.has_begun else 200)


def _ask_database() -> str:
    """Writes an existing row unchanged. A read would not notice a standby, a full disk or a lock."""
    try:
        with time_limit(DATABASE_LIMIT):
            Installation.objects.update(held_because=F("held_because"))
        found = OK
    except Error as error:
        fault = find_fault(error)
        found = _WORDS.get(fault, UNAVAILABLE) if fault else UNAVAILABLE
    is_replaced: bool = connection.is_replaced()  # type: ignore[attr-defined]  # both of our backends have it
    return REPLACED if is_replaced else found


def _is_held() -> bool:
    try:
        with time_limit(DATABASE_LIMIT):
            return bool(read_hold())
    except Error:
        return False


def _ask_watcher() -> dict[str, str]:
    try:
        with time_limit(DATABASE_LIMIT):
            heartbeat = read_heartbeat()
    except Error:
        return {}
    return {} if heartbeat is None else {"watcher": OK if is_beating(heartbeat) else UNAVAILABLE}


def _compare_keys() -> dict[str, str]:
    try:
        with time_limit(DATABASE_LIMIT):
            return {"keys": DIFFER} if find_unshared_key() else {}
    except Error:
        return {}


def _lacks_firewall() -> bool:
    try:
        with time_limit(DATABASE_LIMIT):
            return Watch.objects.filter(instance=settings.BERTH_INSTANCE).exclude(firewall_warning="").exists()
    except Error:
        return False


def _lacks_gateway() -> bool:
    try:
        with time_limit(DATABASE_LIMIT):
            return is_in_trouble()
    except Error:
        return False


def _ask_engine() -> str:
    try:
        with get_engine().read_deadline():
            get_engine().ping()
    except EngineError:
        return UNAVAILABLE
    return OK
