"""`/metrics`, for Prometheus."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from accounts.http import is_on_this_machine
from config.metrics.database_metrics import DatabaseMetrics
from config.metrics.shared import shared_folder
from containers.processes.process_metrics import PROCESS


@csrf_exempt
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answers 200 even if the database does not answer. Never waits for the engine.

    Only for clients with the token, if there is one. Without one, only for this machine; all others get 404.
    """
    if not _may_read(request):
        if not settings.BERTH_METRICS_TOKEN:
            return HttpResponseNotFound("Not found.\n", content_type="text/plain")
        challenge = {"WWW-Authenticate": 'Bearer realm="metrics"'}
        return HttpResponse("A token is needed.\n", status=401, headers=challenge, content_type="text/plain")
    registry = CollectorRegistry()
    registry.register(DatabaseMetrics())
    answer = generate_latest(registry) + _render_processes()
    return HttpResponse(answer, content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    if not settings.BERTH_METRICS_TOKEN:
        return is_on_this_machine(request)
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and constant_time_compare(token.strip(), settings.BERTH_METRICS_TOKEN)


def _render_processes() -> bytes:
    folder = shared_folder()
    if folder is None:
        return generate_latest(PROCESS)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]  # the library's
    return generate_latest(registry)
