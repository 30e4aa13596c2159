"""The admin's page about the sizes of tables and the disk, and their bounds."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe

from projects.services.staff.growth import measure_disk, measure_tables


class GrowthMixin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Adds the page to the model's own ones, for all staff. It shows only numbers, and no contents of rows."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_safe(self.growth_view))
        return [path("growth/", view, name="growth"), *super().get_urls()]

    def growth_view(self, request: HttpRequest) -> HttpResponse:
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": "Growth",
            "opts": self.opts,
            "tables": measure_tables(),
            **_disk(),
        }
        return TemplateResponse(request, "admin/growth.html", context)


def _disk() -> dict[str, Any]:
    try:
        return {"disk": measure_disk()}
    except OSError as error:
        return {"disk_error": error.strerror or type(error).__name__}
