"""Every route of the service."""

from django.contrib import admin
from django.urls import include, path
from django.views.decorators.cache import cache_control
from django.views.decorators.gzip import gzip_page

from config.api_docs.page import DocsView
from config.api_docs.schema_view import SchemaView
from config.cli.view import serve_cli
from config.health import healthz, readyz, readyz_of_server
from config.metrics.view import metrics

handler400 = "config.http.error_handlers.bad_request"
handler403 = "config.http.error_handlers.permission_denied"
handler404 = "config.http.error_handlers.not_found"
handler500 = "config.http.error_handlers.internal_error"

_public = cache_control(public=True, max_age=300)

# It holds no secret that its length could reveal.
_docs = _public(gzip_page(DocsView.as_view()))

urlpatterns = [
    path("api/", include("accounts.api.urls")),
    path("api/", include("projects.api.urls")),
    path("api/schema", _public(SchemaView.as_view()), name="schema"),
    path("api/docs", _docs, name="docs"),
    path("cli", serve_cli, name="cli"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("readyz/server", readyz_of_server, name="readyz-of-server"),
    path("metrics", metrics, name="metrics"),
    path("admin/", admin.site.urls),
    path("", include("accounts.dashboard.urls")),
    path("", include("projects.dashboard.urls")),
]
