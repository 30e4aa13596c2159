"""Whether the process lives, and whether it can do its work."""

from django.contrib.auth import get_user_model
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from containers.engine import EngineError
from containers.get_engine import get_engine


@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """The process answers. Asks nobody else, so that a restart is never caused by somebody else's trouble."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """200 where the database (migrated) and the engine answer, else 503; either way, which of them does."""
    parts = {"database": _database_answers(), "engine": _engine_answers()}
    ready = all(parts.values())
    words = {name: "ok" if answers else "unavailable" for name, answers in parts.items()}
    return JsonResponse({"status": "ok" if ready else "unavailable", **words}, status=200 if ready else 503)


def _database_answers() -> bool:
    try:
        get_user_model().objects.exists()
    except DatabaseError:
        return False
    return True


def _engine_answers() -> bool:
    try:
        get_engine().ping()
    except EngineError:
        return False
    return True
