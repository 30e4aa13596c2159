"""The service's own routes, and those of the attacker: time that passes, a round by hand, the rows as they are."""

from datetime import timedelta

from django.db.models import F
from django.http import HttpRequest, JsonResponse
from django.urls import include, path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from projects.models import IdempotencyRecord, Project
from projects.watcher import orphans
from projects.watcher import reconcile as rounds


@csrf_exempt
def later(_request: HttpRequest) -> JsonResponse:
    """As if so much time had passed that no killed server's claim is valid any more."""
    Project.objects.exclude(operation="").update(operation_deadline=timezone.now() - timedelta(seconds=1))
    IdempotencyRecord.objects.update(created_at=F("created_at") - timedelta(minutes=3))
    return JsonResponse({})


@csrf_exempt
def reconcile(_request: HttpRequest) -> JsonResponse:
    """Orphans are removed at any age."""
    orphans.ORPHAN_AGE = timedelta(0)
    result = rounds.reconcile()
    return JsonResponse({"seen": result.seen, "repaired": result.repaired, "failed": result.failed})


def rows(_request: HttpRequest) -> JsonResponse:
    fields = ("id", "instance", "desired", "operation", "generation", "container_state", "failure_code")
    return JsonResponse({"rows": list(Project.objects.values(*fields))})


urlpatterns = [
    path("", include("config.urls")),
    path("chaos/later", later),
    path("chaos/reconcile", reconcile),
    path("chaos/rows", rows),
]
handler400 = "config.problems.bad_request"
handler403 = "config.problems.permission_denied"
handler404 = "config.problems.not_found"
handler500 = "config.problems.internal_error"
