"""Health checks: whether the process answers, and whether database and engine do."""

from django.contrib.auth import get_user_model
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from containers.errors import EngineError
from containers.get_engine import get_engine


@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """Answers 200. Asks neither database nor engine, so that their trouble never restarts this process."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """Answers 200 if the migrated database and the engine answer, else 503. The body says which of them does."""
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
