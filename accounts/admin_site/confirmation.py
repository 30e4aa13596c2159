"""Admin actions that cannot be undone: they show the affected rows, and run once the user confirms."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from accounts.text import as_shown

SHOWN = 100
"""How many rows one confirmation covers: as many as one page of the admin lists."""

Action = Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]


def describe_done(verb: str, done: int, chosen: int, reasons: dict[str, bool]) -> tuple[str, int]:
    """Returns the message and its level after an action that may skip rows: it gives the reasons that apply."""
    applying = [reason for reason, applies in reasons.items() if applies] if done < chosen else []
    return " ".join([f"{verb}: {done} of {chosen}.", *applying]), messages.WARNING if applying else messages.SUCCESS


class ConfirmationForm(forms.Form):
    """Valid if `confirm` is the phrase that the page has shown: the name of one row, or the number of several.

    A phrase that need not be typed is in a hidden field. It must match as well, because only what the page has shown is
    confirmed.
    """

    confirm = forms.CharField(label="Type it to confirm", required=False)

    def __init__(self, phrase: str, *, typed: bool, data: Any = None) -> None:
        super().__init__(data, initial={} if typed else {"confirm": phrase})
        self.phrase = phrase
        if typed:
            self.fields["confirm"].help_text = f"Type “{phrase}” to confirm."
            self.fields["confirm"].widget.attrs = {
                "autocomplete": "off",
                "autocapitalize": "none",
                "spellcheck": "false",
            }
        else:
            self.fields["confirm"].widget = forms.HiddenInput()

    def clean_confirm(self) -> str:
        confirm: str = self.cleaned_data["confirm"]
        if as_shown(confirm) != as_shown(self.phrase):
            raise forms.ValidationError(f"That is not “{self.phrase}”. Type it exactly as it is.", code="mismatch")
        return confirm


def asks_first(
    *, verb: str, consequence: str, typed: bool = False, describe: Callable[[Any], str] = str
) -> Callable[[Action], Action]:
    """Makes an action of a ModelAdmin ask before it acts. Goes above `@admin.action`.

    `verb` begins the question, and `consequence` says what is lost. With `typed`, the user must type the name of the
    row or the number of rows. `describe` returns the line for a row. A POST without the confirmation changes nothing.
    """

    def decorate(act: Action) -> Action:
        @wraps(act)
        def ask(admin: Any, request: HttpRequest, chosen: QuerySet[Any]) -> HttpResponse | None:
            rows = list(chosen[:SHOWN])
            if not rows:
                admin.message_user(request, "What you selected is gone already.", messages.WARNING)
                return None
            phrase = str(rows[0]) if len(rows) == 1 else f"{len(rows)} {admin.opts.verbose_name_plural}"
            form = ConfirmationForm(phrase, typed=typed, data=request.POST if "confirm" in request.POST else None)
            if form.is_valid():
                return act(admin, request, chosen.filter(pk__in=[row.pk for row in rows]))
            question = {
                "title": f"{verb} “{phrase}”?" if len(rows) == 1 else f"{verb} {phrase}?",
                "verb": verb,
                "consequence": consequence,
                "lines": [describe(row) for row in rows],
                "left": chosen.count() - len(rows),
                "action": act.__name__,
                "keys": [row.pk for row in rows],
            }
            return _show(admin, request, form, question)

        return ask

    return decorate


def _show(admin: Any, request: HttpRequest, form: ConfirmationForm, question: dict[str, Any]) -> HttpResponse:
    frame = {**admin.admin_site.each_context(request), "opts": admin.opts, "checkbox": ACTION_CHECKBOX_NAME}
    status = 400 if form.is_bound else 200
    return TemplateResponse(request, "admin/confirm_action.html", {**frame, **question, "form": form}, status=status)
