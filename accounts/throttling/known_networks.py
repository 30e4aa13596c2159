"""The networks from which a user has passed the second factor: there the tries of others do not count.

Somebody who has stolen a password can use up the tries of a code, which are few for all of the world together. The
owner keeps tries of their own where they have signed in before. So there are at most `MOST` times more.
"""

from datetime import timedelta

from accounts import clock
from accounts.http import client_network
from accounts.models import KnownNetwork, User
from accounts.moments import LIMITS_DIFFER, future, recent

MOST = 5
KEPT_FOR = timedelta(days=90)


def remember_network(*, user: User, address: str | None) -> None:
    """Notes that the user was there, and forgets all but the last `MOST`. An unknown address is no place."""
    if address is None:
        return
    network, now = client_network(address), clock.now()
    KnownNetwork.objects.filter(future("used_at", now=now, ahead=LIMITS_DIFFER), user=user).delete()
    KnownNetwork.objects.update_or_create(user=user, network=network, defaults={"used_at": now})
    kept = KnownNetwork.objects.filter(user=user).order_by("-used_at", "-pk").values_list("pk", flat=True)[:MOST]
    KnownNetwork.objects.filter(user=user).exclude(pk__in=list(kept)).delete()


def is_known_network(*, user: User, address: str | None) -> bool:
    if address is None:
        return False
    known = KnownNetwork.objects.filter(user=user, network=client_network(address))
    return known.filter(recent("used_at", within=KEPT_FOR, now=clock.now(), ahead=LIMITS_DIFFER)).exists()


def forget_networks(*, user: User) -> None:
    KnownNetwork.objects.filter(user=user).delete()
