"""Formats how long ago something was."""

from datetime import datetime

from django import template

from accounts import clock
from projects.rules import spans

register = template.Library()


@register.filter
def ago(at: datetime) -> str:
    return spans.describe_ago(at, now=clock.now())


@register.filter
def lasting(since: datetime) -> str:
    return spans.describe_span(clock.now() - since)
