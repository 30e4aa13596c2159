"""The outbox in the admin: mails that wait for the mail server, and the outcome of the others."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest

from accounts.admin_site.confirmation import describe_done
from accounts.admin_site.permissions import ReadableByStaff
from accounts.models import OutgoingMail, User
from accounts.services.outbox import try_again


class OutgoingMailAdmin(ReadableByStaff, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Shows the kind and recipient of each mail. Its text is written when it is sent."""

    fields = (
        *("kind", "recipient", "state", "attempts", "next_try_at", "last_error"),
        *("created_at", "give_up_at", "ended_at"),
    )
    list_display = ("created_at", "kind", "recipient", "state", "attempts", "next_try_at", "last_error", "ended_at")
    list_filter = ("state", "kind")
    date_hierarchy = "created_at"
    actions = ("send_again",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[OutgoingMail]:
        rows: QuerySet[OutgoingMail] = super().get_queryset(request)
        return rows.annotate(email=Subquery(User.objects.filter(pk=OuterRef("user_id")).values("email")))

    @admin.display(description="to")
    def recipient(self, mail: Any) -> str:
        """Returns the user's current address. A mail goes to the address at the time of sending."""
        return mail.email or "a deleted user"

    @admin.action(description="Try the selected mails again now, unless they were sent")
    def send_again(self, request: HttpRequest, chosen: QuerySet[OutgoingMail]) -> None:
        due = try_again(OutgoingMail.objects.filter(pk__in=chosen.values("pk")))
        reasons = {"Mails that were sent, or that nobody needs any more, are not sent again.": True}
        self.message_user(request, *describe_done("Due now", due, chosen.count(), reasons))
