"""The page on which users choose their alerts."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from accounts.dashboard.decorators import for_signed_in
from accounts.http import SignedInRequest
from projects.credentials.encryption import SecretUnreadableError
from projects.dashboard.forms.alerts import FORMS, KindsForm
from projects.dashboard.refusals import status_of
from projects.errors import InvalidFieldError, NoPlaceError
from projects.models import AlertChannel, AlertDelivery, DeliveryState
from projects.rules.alerts import AlertKind, Way
from projects.services.alerts.channels import (
    choose_kinds,
    find_channels,
    remove_channel,
    renew_secret,
    set_bot,
    set_webhook,
)
from projects.services.alerts.chat import find_chat, set_chat
from projects.services.alerts.sending import send_test

LOG = 15
"""The maximum number of messages per channel that the page shows."""


@for_signed_in
def show_alerts(request: SignedInRequest) -> HttpResponse:
    return _page(request)


@sensitive_post_parameters()
@for_signed_in
@sensitive_variables()
def change_alerts(request: SignedInRequest, way: str) -> HttpResponse:
    """Handles the form of one channel. Its button says what to do."""
    if way not in FORMS:
        raise Http404("There is no such way.")
    if request.method != "POST":
        return redirect("projects:alerts")
    chosen, channel = Way(way), find_channels(request.user).get(way)
    match request.POST.get("do"):
        case "test" | "remove" | "renew" | "find" as what if channel is not None:
            return _act(request, channel, what)
        case "save":
            form = FORMS[chosen](chosen, channel, request.POST, is_staff=request.user.is_staff)
            return _save(request, chosen, form)
        case _:
            return redirect("projects:alerts")


@sensitive_variables()
def _save(request: SignedInRequest, way: Way, form: KindsForm) -> HttpResponse:
    if not form.is_valid():
        return _page(request, form, status=400)
    fields, secret = form.cleaned_data, ""
    try:
        if fields.get("url"):
            secret = set_webhook(user=request.user, url=fields["url"])
        if fields.get("token"):
            set_bot(user=request.user, token=fields["token"])
        channel = choose_kinds(user=request.user, way=way, kinds=fields["kinds"])
        if fields.get("chat"):
            set_chat(channel, fields["chat"])
    except (InvalidFieldError, NoPlaceError) as error:
        form.refuse(error)
        page = _page(request, form, status=status_of(error))
        if isinstance(error, NoPlaceError):
            page["Retry-After"] = str(error.retry_after)
        return page
    if secret:
        return _page(request, secret=secret)
    messages.success(request, "Your alerts are changed.")
    return redirect("projects:alerts")


@sensitive_variables()
def _act(request: SignedInRequest, channel: AlertChannel, what: str) -> HttpResponse:
    try:
        if what == "remove":
            remove_channel(user=request.user, way=Way(channel.way))
            messages.success(request, f"{channel.get_way_display()}: nothing of it is kept.")
        elif what == "renew" and channel.way == Way.WEBHOOK:
            return _page(request, secret=renew_secret(user=request.user))
        elif what == "find" and channel.way == Way.TELEGRAM:
            find_chat(channel)
            messages.success(request, "The bot has found your chat. Send a test.")
        elif what == "test" and channel.target:
            sent = send_test(channel, within=settings.BERTH_OUTSIDE_LIMIT)
            say = messages.success if sent.state == DeliveryState.DELIVERED else messages.error
            say(request, f"{channel.get_way_display()}, a test: {sent.get_state_display()}. {sent.last_answer}")
    except (InvalidFieldError, NoPlaceError, SecretUnreadableError) as error:
        messages.error(request, str(error))
    return redirect("projects:alerts")


@sensitive_variables()
def _page(
    request: SignedInRequest, bound: KindsForm | None = None, *, secret: str = "", status: int = 200
) -> HttpResponse:
    """Shows the page. `bound` is a form with errors, instead of an empty one. `secret` is shown only this once."""
    channels = find_channels(request.user)
    ways: dict[str, Any] = {}
    for way, form_class in FORMS.items():
        channel = channels.get(way)
        empty = form_class(way, channel, is_staff=request.user.is_staff)
        form = bound if bound is not None and bound.prefix == way else empty
        log = AlertDelivery.objects.filter(channel=channel) if channel else AlertDelivery.objects.none()
        log = log if request.user.is_staff else log.exclude(kind=AlertKind.SERVICE)
        ways[way.value] = {"way": way, "channel": channel, "form": form, "log": log[:LOG]}
    page = {"form": bound, "ways": ways, "secret": secret, "sends_mail": settings.BERTH_SENDS_MAIL}
    return render(request, "projects/alerts.html", page, status=status)
