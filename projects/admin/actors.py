"""Who acts when staff use the admin."""

from django.http import HttpRequest

from accounts.admin_site.permissions import staff_user
from accounts.http import client_address
from projects.models import Actor
from projects.models.event import BY_STAFF


def actor_of(request: HttpRequest) -> Actor:
    return Actor(label=staff_user(request).email, source=BY_STAFF, address=client_address(request))
