"""The API as it is without the shortcuts of `accounts.api.shortcuts`: what they have to give, to the byte."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch
from uuid import uuid4

from django.http import HttpResponse

from accounts.api import shortcuts
from projects.models import Project
from projects.rules.status.lifecycle import LEASE

PATHS = ("/api/projects", "/api/projects?limit=1", "/api/projects/{id}", "/api/auth/session")
LONG_AGO = timedelta(minutes=5)
_MAY_DIFFER = {"X-Request-ID", "RateLimit"}


@contextmanager
def without_shortcuts() -> Iterator[None]:
    with patch.object(shortcuts, "_is_ordinary", lambda _request: False):
        yield


def told(answer: HttpResponse) -> tuple[int, bytes, dict[str, str]]:
    headers = {name: value for name, value in answer.headers.items() if name not in _MAY_DIFFER}
    content = answer.content
    if answer.status_code >= 400:
        content = b"".join(part for part in content.split(b", ") if b"request_id" not in part)
    return answer.status_code, content, headers


def columns(at: datetime, **values: Any) -> dict[str, Any]:
    """All that a status follows from, with these values."""
    held = bool(values.get("operation"))
    claim = {"operation_id": uuid4() if held else None, "operation_deadline": at + LEASE if held else None}
    quiet = {"updated_at": at - LONG_AGO, "observed_at": at, "started_at": at - LONG_AGO}
    return {"operation": "", **quiet, **claim, **values}


def put(project: Project, at: datetime, **values: Any) -> None:
    Project.objects.filter(pk=project.pk).update(**columns(at, **values))
