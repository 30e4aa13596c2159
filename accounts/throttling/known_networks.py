"""The networks from which a user has passed the second factor: there the tries of others do not count.

Somebody who has stolen a password can use up the tries of a code, which are few for all of the world together. The
owner keeps tries of their own where they have signed in before. So there are at most `MOST` times more.
"""

from datetime import timedelta

from django.utils import timezone

from accounts.http import client_network
from accounts.models import KnownNetwork, User

MOST = 5
KEPT_FOR = timedelta(days=90)


def remember_network(*, user: User, address: str | None) -> None:
    """Notes that the user was there, and forgets all but the last `MOST`. An unknown address is no place."""
    if address is None:
        return
    network = client_network(address)
    KnownNetwork.objects.update_or_create(user=user, network=network, defaults={"used_at": timezone.now()})
    kept = KnownNetwork.objects.filter(user=user).order_by("-used_at", "-pk").values_list("pk", flat=True)[:MOST]
    KnownNetwork.objects.filter(user=user).exclude(pk__in=list(kept)).delete()


def is_known_network(*, user: User, address: str | None) -> bool:
    if address is None:
        return False
    known = KnownNetwork.objects.filter(user=user, network=client_network(address))
    return known.filter(used_at__gt=timezone.now() - KEPT_FOR).exists()


def forget_networks(*, user: User) -> None:
    KnownNetwork.objects.filter(user=user).delete()
