"""Sizes of which a column counts megabytes, as people read all others."""

from django import template
from django.template.defaultfilters import filesizeformat

register = template.Library()


@register.filter
def megabytes(count: int) -> str:
    return str(filesizeformat(count << 20))
