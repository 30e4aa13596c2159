"""The service's own routes, and three for the tests:
they let claims expire, run one round of the watcher, and show the rows."""

from datetime import timedelta

from django.db.models import F
from django.http import HttpRequest, JsonResponse
from django.urls import include, path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from projects.models import IdempotencyRecord, Project
from projects.watcher.reconcile import full as rounds
from projects.watcher.reconcile import orphans


@csrf_exempt
def later(_request: HttpRequest) -> JsonResponse:
    """Makes every claim of a killed server expire."""
    Project.objects.exclude(operation="").update(operation_deadline=timezone.now() - timedelta(seconds=1))
    IdempotencyRecord.objects.update(created_at=F("created_at") - timedelta(minutes=3))
    return JsonResponse({})


@csrf_exempt
def reconcile(_request: HttpRequest) -> JsonResponse:
    """Runs one round of the watcher, which removes orphans of any age."""
    orphans.ORPHAN_AGE = timedelta(0)
    result = rounds.reconcile()
    return JsonResponse({"seen": result.seen, "repaired": result.repaired, "failed": result.failed})


def rows(_request: HttpRequest) -> JsonResponse:
    fields = ("id", "instance", "desired", "operation", "generation", "container_state", "failure_code", "seen_code")
    return JsonResponse({"rows": list(Project.objects.values(*fields))})


urlpatterns = [
    path("", include("config.urls")),
    path("chaos/later", later),
    path("chaos/reconcile", reconcile),
    path("chaos/rows", rows),
]
handler400 = "config.http.error_handlers.bad_request"
handler403 = "config.http.error_handlers.permission_denied"
handler404 = "config.http.error_handlers.not_found"
handler500 = "config.http.error_handlers.internal_error"
