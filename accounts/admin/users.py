"""Users in the admin. It shows no credential except a new set-password link, once."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import admin as django_auth_admin  # noqa: F401 - registers Group, which is unregistered below
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_http_methods

from accounts.admin.kept import describe_kept_account
from accounts.admin.keys import ApiKeyAdmin
from accounts.admin.notice import NoticeAdmin
from accounts.admin.outbox import OutgoingMailAdmin
from accounts.admin.people import PeopleAdmin, SecondFactorFilter
from accounts.admin_site.permissions import ReadableByStaff, is_admin, is_staff, staff_user
from accounts.errors import InactiveUserError, InvalidTokenError
from accounts.models import ApiKey, Notice, OutgoingMail, Role, User
from accounts.services.admins import lock_admins
from accounts.services.second_factor import has_second_factor, reset_second_factor
from accounts.services.set_password_links import make_set_password_link
from accounts.services.still_signed_in import lock_if_still_signed_in

admin.site.unregister(Group)
admin.site.register(OutgoingMail, OutgoingMailAdmin)
admin.site.register(ApiKey, ApiKeyAdmin)
admin.site.register(Notice, NoticeAdmin)

_ROLE_FIELDS = ("is_staff", "is_superuser")
_RIGHTS = ("is_active", *_ROLE_FIELDS)


class UserForm(forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker only, as are the next two
    class Meta:
        model = User
        fields = ["email", "is_active", "is_staff", "is_superuser", "notes"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("is_superuser") and not cleaned.get("is_staff"):
            self.add_error("is_staff", "Every admin is also staff. Tick both.")
        return cleaned


@admin.register(User)
class UserAdmin(ReadableByStaff, PeopleAdmin, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Staff add and change ordinary users; only admins change roles, staff and admins. Nobody locks themselves out."""

    form = UserForm
    list_display = (
        *("email", "role", "is_active", "second_factor_on", "held", "used", "last_seen"),
        *("date_joined", "notes"),
    )
    list_select_related = ("second_factor",)
    list_filter = ("is_active", "is_staff", "is_superuser", ("second_factor", SecondFactorFilter))
    search_fields = ("email", "notes")
    ordering = ("email",)
    readonly_fields = ("second_factor_on", "last_login", "date_joined", "closed_at")

    @admin.display(boolean=True, description="Second factor")
    def second_factor_on(self, user: User) -> bool:
        return hasattr(user, "second_factor")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        ordinary = obj is None or obj.role == Role.USER
        return is_admin(request) or (is_staff(request) and ordinary)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return is_admin(request) and obj != request.user

    def describe_kept(self, request: HttpRequest, row: User) -> str:
        if row == request.user:
            return "You cannot delete your own account here. Ask another admin."
        return describe_kept_account(row) or super().describe_kept(request, row)

    def get_fields(self, request: HttpRequest, obj: User | None = None) -> list[Any]:
        if obj is None:
            return ["email", *(_ROLE_FIELDS if is_admin(request) else ())]
        return ["email", *_RIGHTS, "notes", *self.readonly_fields]

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """An account that its user has closed cannot get its rights back, because its agents and its row are being
        deleted.
        """
        if obj is not None and (obj == request.user or obj.closed_at is not None):
            return (*self.readonly_fields, *_RIGHTS)
        return self.readonly_fields if is_admin(request) else (*self.readonly_fields, *_ROLE_FIELDS)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Writes only the changed fields, because another request may change the row at the same moment."""
        if not change:
            obj.set_unusable_password()
            super().save_model(request, obj, form, change)
        elif form.changed_data:
            self._check_still_allowed(request, obj)
            now = User.objects.select_for_update().get(pk=obj.pk)
            if not self.has_change_permission(request, now):
                raise PermissionDenied("Only admins change staff and admins.")
            if now.closed_at is not None and not set(_RIGHTS).isdisjoint(form.changed_data):
                raise PermissionDenied("The user has closed this account meanwhile, and it is being deleted.")
            obj.save(update_fields=form.changed_data)

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        self._check_still_deletable(request, obj)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self._check_still_deletable(request, *queryset)
        super().delete_queryset(request, queryset)

    def response_action(self, request: HttpRequest, queryset: QuerySet[User], **options: Any) -> HttpResponse | None:  # type: ignore[override]  # Django passes names only
        """Carries an action out in one transaction with its history, as Django does for the pages of one user."""
        with transaction.atomic():
            return super().response_action(request, queryset, **options)

    def _check_still_allowed(self, request: HttpRequest, *users: User) -> None:
        """Keeps two admins from taking each other's rights at the same moment, after which there would be none."""
        if is_admin(request) and staff_user(request).pk not in lock_admins(and_also=[user.pk for user in users]):
            raise PermissionDenied("You are no longer an admin: another admin has changed your account meanwhile.")

    def _check_still_deletable(self, request: HttpRequest, *users: User) -> None:
        self._check_still_allowed(request, *users)
        for user in users:
            if why := describe_kept_account(user):
                raise PermissionDenied(why)

    def response_add(self, request: HttpRequest, obj: User, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_link(request, obj)

    def get_urls(self) -> list[URLPattern]:
        link = self.admin_site.admin_view(require_http_methods(["GET", "HEAD", "POST"])(self.set_password_link))
        reset_page = self.admin_site.admin_view(self.reset_second_factor)
        return [
            path("<uuid:user_id>/set-password-link/", link, name="accounts_user_link"),
            path("<uuid:user_id>/reset-second-factor/", reset_page, name="accounts_user_reset"),
            *super().get_urls(),
        ]

    def set_password_link(self, request: HttpRequest, user_id: str) -> HttpResponse:
        """Makes the link and shows it. A GET, as after signing in again, redirects to the user."""
        user = self._changeable(request, user_id)
        if request.method != "POST":
            return redirect("admin:accounts_user_change", user.pk)
        if user.is_active:
            self.log_change(request, user, "Made a set-password link.")
        return self._show_link(request, user)

    def reset_second_factor(self, request: HttpRequest, user_id: str) -> HttpResponse:
        user = self._changeable(request, user_id)
        if user == request.user:
            raise PermissionDenied("Turn your own off in the settings, which ask for its code.")
        if not has_second_factor(user):
            raise Http404("This user has no second factor.")
        if request.POST.get("confirm") != user.email:
            context = {**self._context(request, user), "title": f"Reset the second factor of {user.email}?"}
            return TemplateResponse(request, "admin/accounts/user/reset_second_factor.html", context)
        reset_second_factor(user=user, by=staff_user(request))
        self.log_change(request, user, "Reset the second factor.")
        self.message_user(request, f"The second factor of {user.email} is reset.", messages.SUCCESS)
        return redirect("admin:accounts_user_change", user.pk)

    def _changeable(self, request: HttpRequest, user_id: str) -> User:
        user: User | None = self.get_object(request, str(user_id))
        if user is None:
            raise Http404("There is no such user.")
        if not self.has_change_permission(request, user):
            raise PermissionDenied("Only admins change staff and admins.")
        return user

    def _show_link(self, request: HttpRequest, user: User) -> HttpResponse:
        staff = staff_user(request)
        try:
            with transaction.atomic():
                lock_if_still_signed_in(staff, request.session)
                link = make_set_password_link(user=user, by=staff)
        except InvalidTokenError:
            return redirect("admin:login")
        except InactiveUserError as error:
            self.message_user(request, str(error), messages.ERROR)
            return redirect("admin:accounts_user_change", user.pk)
        context = {
            **self._context(request, user),
            "title": f"Set-password link for {user.email}",
            "link": link,
        }
        return TemplateResponse(request, "admin/accounts/user/set_password_link.html", context)

    def _context(self, request: HttpRequest, user: User) -> dict[str, Any]:
        return {**self.admin_site.each_context(request), "opts": self.opts, "original": user}
