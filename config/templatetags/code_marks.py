"""Shows as code what a description sets in backticks."""

import re

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_MARKED = re.compile(r"`([^`]+)`")


@register.filter
def code_marks(text: str) -> SafeString:
    return mark_safe(_MARKED.sub(r"<code>\1</code>", conditional_escape(text)))  # noqa: S308 - it is escaped
