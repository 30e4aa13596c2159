"""The columns of the list of users in the admin, and the page on which staff invite several people."""

import re
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from accounts.admin_site.permissions import is_staff, staff_user
from accounts.errors import InvalidTokenError
from accounts.models import ApiKey, User
from accounts.services.invitations import MOST, Invitation, invite
from accounts.services.still_signed_in import lock_if_still_signed_in

_BETWEEN = re.compile(r"[\s,;]+")
"""Separators between two addresses, also in a list copied from a mail or a table."""

_IN_BRACKETS = re.compile(r"<([^<>\r\n]*)>")
_ENDS_NAMES = re.compile(r"[;\r\n]")
"""Names precede an address in brackets, and may contain a comma."""


class InvitationForm(forms.Form):
    emails = forms.CharField(
        label="Emails",
        widget=forms.Textarea(attrs={"rows": 8, "class": "vLargeTextField", "spellcheck": "false"}),
        help_text=f"One per line, or separated by commas; at most {MOST}.",
    )
    way = forms.ChoiceField(
        label="How",
        choices=[("mail", "Send each a mail with a link"), ("links", "Show me the links, and I will hand them over")],
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        if not settings.BERTH_SENDS_MAIL:
            del self.fields["way"]

    def clean_emails(self) -> list[str]:
        emails = _read_addresses(self.cleaned_data["emails"])
        if not emails:
            raise forms.ValidationError("This contains no address. Enter at least one.")
        if len(emails) > MOST:
            raise forms.ValidationError(f"These are {len(emails)} addresses. Invite at most {MOST} at a time.")
        return emails


def _read_addresses(text: str) -> list[str]:
    """Returns the addresses. For `Ann Lee <ann@example.org>`, as in mails, it returns the address in the brackets, and
    the name if these are empty, so that it is refused and not left out.
    """
    *named, rest = _IN_BRACKETS.split(text)
    found = list[str]()
    for before, address in zip(named[::2], named[1::2], strict=True):
        *lines, last = _ENDS_NAMES.split(before)
        plain = [each for each in _BETWEEN.split(last) if "@" in each and '"' not in each]
        found += [*_BETWEEN.split(" ".join(lines)), *plain, address.strip() or ("" if plain else last.strip(" \t,"))]
    return [each for each in (*found, *_BETWEEN.split(rest)) if each]


class SecondFactorFilter(admin.EmptyFieldListFilter):
    """Django names a filter by a relation from the other side like the attribute."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = "second factor"


class PeopleAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Base of the admin of users."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        now = clock.now()
        used = ApiKey.objects.filter(user=OuterRef("pk")).order_by().values("user").annotate(at=Max("last_used_at"))
        found: QuerySet[User] = (
            super()
            .get_queryset(request)
            .annotate(
                projects_held=Count("projects", filter=~Q(projects__desired="deleted")),
                month_tokens=Sum(
                    "projects__spending__month_tokens",
                    filter=Q(projects__spending__month=now.date().replace(day=1)),
                    default=0,
                ),
                key_used_at=Subquery(used.values("at")),
            )
        )
        return found

    @admin.display(description="projects", ordering="projects_held")
    def held(self, user: Any) -> int:
        return int(user.projects_held)

    @admin.display(description="tokens this month", ordering="month_tokens")
    def used(self, user: Any) -> int:
        return int(user.month_tokens)

    @admin.display(description="last seen")
    def last_seen(self, user: Any) -> Any:
        """Returns when the user last signed in, or last used a key, if that is later."""
        return max(filter(None, (user.last_login, user.key_used_at)), default=None)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.invite_view)
        return [path("invite/", view, name="accounts_user_invite"), *super().get_urls()]

    @sensitive_variables()
    def invite_view(self, request: HttpRequest) -> HttpResponse:
        """Shows the links this once, or queues a mail for each. They are stored nowhere."""
        if not is_staff(request):
            raise PermissionDenied("The admin is for staff.")
        form, made, by_mail = InvitationForm(request.POST or None), [], False
        if request.method == "POST" and form.is_valid():
            staff, by_mail = staff_user(request), form.cleaned_data.get("way") == "mail"
            try:
                with transaction.atomic():
                    lock_if_still_signed_in(staff, request.session)
                    made = invite(form.cleaned_data["emails"], by=staff, by_mail=by_mail)
                    self._log_additions(request, made)
            except InvalidTokenError:
                return redirect("admin:login")
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": "Invite people"}
        page = {**frame, "form": form, "made": made, "by_mail": by_mail, "sends_mail": settings.BERTH_SENDS_MAIL}
        return TemplateResponse(request, "admin/accounts/user/invite.html", page)

    def _log_additions(self, request: HttpRequest, made: list[Invitation]) -> None:
        """Writes the same history as the form for one user."""
        for invitation in made:
            if invitation.is_new:
                self.log_addition(request, invitation.user, [{"added": {}}])
            elif invitation.user is not None:
                self.log_change(request, invitation.user, "Invited again, by mail.")
