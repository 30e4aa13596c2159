"""The admin site, which uses the sign-in page of the dashboard, with its limits."""

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme


class BerthAdminSite(AdminSite):
    site_title = "Berth"
    site_header = "Berth"
    index_title = "Administration"
    site_url = "/"

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseRedirect:
        """Redirects to the sign-in page. Refuses signed-in users who are not staff, instead of asking them again."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise PermissionDenied("The admin is for staff. Ask an admin for the role, or sign in as somebody else.")
        target = request.GET.get("next", "")
        if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
            target = reverse("admin:index")
        return redirect_to_login(target)

    def password_change(  # type: ignore[override]  # any response will do
        self,
        request: HttpRequest,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return redirect("accounts:settings")
