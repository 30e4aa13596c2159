from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def berth_version() -> str:
    return str(settings.BERTH_VERSION)
