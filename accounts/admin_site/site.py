"""The admin site, which uses the sign-in page of the dashboard, with its limits."""

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver, reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from accounts.admin_site.deletion import delete_selected
from accounts.admin_site.lookups import DeclaredLookups
from accounts.services.sign_in import sign_out


class BerthAdminSite(AdminSite):
    site_title = "Berth"
    site_header = "Berth"
    index_title = "Administration"
    site_url = "/"
    enable_nav_sidebar = False  # the lists need its width, so that nothing is cut off at 1280 px

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.add_action(delete_selected)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseRedirect:
        """Redirects to the sign-in page. Refuses signed-in users who are not staff, instead of asking them again."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise PermissionDenied("The admin is for staff. Ask an admin for the role, or sign in as someone else.")
        target = request.GET.get("next", "")
        if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
            target = reverse("admin:index")
        return redirect_to_login(target)

    @method_decorator(require_POST)
    def logout(  # type: ignore[override]  # any response will do
        self,
        request: HttpRequest,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Does what signing out of the dashboard does: both pages end the same session."""
        sign_out(request=request)
        return redirect("accounts:sign-in")

    logout.throttle_scope = "signing out"  # type: ignore[attr-defined]  # PageLimitMiddleware looks for it

    def password_change(  # type: ignore[override]  # any response will do
        self,
        request: HttpRequest,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return redirect("accounts:settings")

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Leaves out the URL that reveals which rows exist in any table. No page of ours links to it."""
        for model_admin in self._registry.values():
            if not isinstance(model_admin, DeclaredLookups):
                raise ImproperlyConfigured(f"{type(model_admin).__name__} must derive from DeclaredLookups.")
        return [url for url in super().get_urls() if getattr(url, "name", None) != "view_on_site"]

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        """Answers only for fields that an admin declares in `autocomplete_fields`, not for every relation."""
        label = f"{request.GET.get('app_label')}.{request.GET.get('model_name')}"
        declared = [
            name
            for model, model_admin in self._registry.items()
            if model._meta.label_lower == label
            for name in model_admin.get_autocomplete_fields(request)
        ]
        if request.GET.get("field_name") not in declared:
            raise Http404("No form of the admin has such a field.")
        return super().autocomplete_view(request)
