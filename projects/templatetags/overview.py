"""The state of the installation for the first page of the admin."""

from django import template

from projects.services.staff.overview import Overview, read_overview

register = template.Library()


@register.simple_tag
def overview() -> Overview:
    return read_overview()
