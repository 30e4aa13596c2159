"""Shows as code what a description sets in backticks."""

import re

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_MARKED = re.compile(r"`([^`]+)`")


@register.filter
def code_marks(text: str) -> SafeString:
    marked = _MARKED.sub(r"<code>\1</code>", conditional_escape(text))
    return mark_safe(marked)  # noqa: S308  # nosec B308 B703 - it is escaped
