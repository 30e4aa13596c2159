"""Shows text in backticks as code."""

import re

from django import template
from django.utils.html import format_html, format_html_join

register = template.Library()

_MARKED = re.compile(r"`([^`]+)`")


@register.filter
def code_marks(text: str) -> str:
    *before, last = _MARKED.split(str(text))
    marked = format_html_join("", "{}<code>{}</code>", zip(before[::2], before[1::2], strict=True))
    return format_html("{}{}", marked, last)
