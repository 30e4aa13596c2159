"""Every route of the service."""

from csp.decorators import csp_update
from django.contrib import admin
from django.urls import include, path
from django.views.decorators.cache import cache_control
from drf_spectacular.views import SpectacularSwaggerSplitView

from config.api_docs.schema_view import SchemaView
from config.health import healthz, readyz

handler400 = "config.error_handlers.bad_request"
handler403 = "config.error_handlers.permission_denied"
handler404 = "config.error_handlers.not_found"
handler500 = "config.error_handlers.internal_error"

_public = cache_control(public=True, max_age=300)
# Swagger UI has its pictures in its style sheet.
_with_inline_pictures = csp_update({"img-src": ["data:"]})
_docs = SpectacularSwaggerSplitView.as_view(template_name="config/api_docs.html")

urlpatterns = [
    path("api/", include("accounts.api.urls")),
    path("api/", include("projects.api.urls")),
    path("api/schema", _public(SchemaView.as_view()), name="schema"),
    path("api/docs", _with_inline_pictures(_docs), name="docs"),
    path("healthz", healthz),
    path("readyz", readyz),
    path("admin/", admin.site.urls),
    path("", include("accounts.dashboard.urls")),
    path("", include("projects.dashboard.urls")),
]
