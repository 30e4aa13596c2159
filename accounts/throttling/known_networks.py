"""The networks from which a user has passed the second factor. Attempts from elsewhere do not count there.

Someone who has stolen a password can use up the attempts at a code, which are few for the whole world together. The
owner keeps separate attempts in networks where they have signed in before, so there are at most `MOST` times more
attempts.
"""

from datetime import timedelta

from accounts import clock
from accounts.http import client_network
from accounts.models import KnownNetwork, User
from accounts.moments import LIMITS_DIFFER, future, recent

MOST = 5
KEPT_FOR = timedelta(days=90)


def remember_network(*, user: User, address: str | None) -> None:
    """Records that the user was there, and deletes all but the last `MOST` networks. Ignores an unknown address."""
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
