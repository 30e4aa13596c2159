"""Formats sizes from columns that count megabytes."""

from django import template
from django.template.defaultfilters import filesizeformat

register = template.Library()


@register.filter
def megabytes(count: int) -> str:
    return str(filesizeformat(count << 20))
