"""Identifies the agent behind a request: virtual credential and source address must belong to the same project."""

from collections import OrderedDict
from collections.abc import Callable
from enum import Enum, auto
from math import inf

from gateway.entries.entry import Entry, digest
from gateway.entries.table import Table
from gateway.rules.refusals import RefusedError, Why

ADDRESSES = 4096
CREDENTIALS = 64
"""How many addresses are remembered, and how many unknown credentials of each. The oldest are forgotten first."""


class Stranger(Enum):
    """Why a request belongs to no agent."""

    LATER = auto()
    """The credential is not known yet, or not with this address, because the entry of a new container may be on its
    way. Or the entry has no lease now, or is void on this node but perhaps on no other."""
    ASTRAY = auto()
    """Most likely the agent itself, whose address a rule on the host changes. A program on the host looks the same."""
    INVALID = auto()
    """The credential or the address is wrong."""


_WORDS = {
    Stranger.LATER: "Service Unavailable",
    Stranger.ASTRAY: "This agent's requests come from an address that is not its own: a rule on the host changes it.",
}


def admit(found: Entry | Stranger, *, otherwise: RefusedError) -> Entry:
    """Returns the entry. Raises RefusedError for a stranger, which is `otherwise` if credential or address is wrong."""
    if isinstance(found, Entry):
        return found
    if found is Stranger.INVALID:
        raise otherwise
    # A connection keeps its changed address, even after the rule is gone.
    headers = {"Connection": "close"} if found is Stranger.ASTRAY else None
    raise RefusedError(Why.LATER, _WORDS[found], retry_after=1, headers=headers)


class Comparison:
    """Records when the service last compared this gateway's entries with its rows and found none missing or outdated.

    Until it does, the gateway cannot distinguish a credential that is invalid everywhere from one it has not received.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._began = self.found_equal_at = -inf

    def begin(self) -> None:
        self._began = self._now()

    def confirm_equal(self) -> None:
        self.found_equal_at = self._began


class GracePeriods:
    """Grace periods for invalid credentials, one for each credential and the address that sends it."""

    def __init__(
        self, seconds: float, now: Callable[[], float], *, can_restart: bool = False, until: Comparison | None = None
    ) -> None:
        """A grace period lasts so many `seconds`.

        With `can_restart`, it begins again if the address has not sent the credential for as many seconds. With
        `until`, it also lasts until a comparison that began after those seconds has found nothing missing.
        """
        self._seconds = seconds
        self._now = now
        self._can_restart = can_restart
        self._until = until
        self._seen: OrderedDict[str, OrderedDict[str, tuple[float, float]]] = OrderedDict()
        """By address and credential: when it came for the first time in this period, and for the last time."""

    def is_over(self, address: str, virtual: str) -> bool:
        """Notes that the address has sent the credential, and returns whether its grace period is over."""
        of_address = self._seen.setdefault(address, OrderedDict())
        now = self._now()
        first, last = of_address.get(virtual, (now, now))
        if self._can_restart and now - last >= self._seconds:
            first = now
        of_address[virtual] = (first, now)
        self._seen.move_to_end(address)
        if len(of_address) > CREDENTIALS:
            of_address.popitem(last=False)
        if len(self._seen) > ADDRESSES:
            self._seen.popitem(last=False)
        known_at = now if self._until is None else self._until.found_equal_at
        return known_at - first >= self._seconds


class Callers:
    """Distinguishes agents from strangers.

    A correct credential from another agent's address is stolen. From an address that no agent has (mostly the host's),
    it is either stolen, or the agent's own and a NAT rule on the host has changed the address. These two cannot be
    distinguished, even while the agent also uses its own address, because connections opened before such a rule keep
    theirs. So the gateway asks it to retry and never admits it: told that its credential is wrong, an agent would give
    up and report a wrong credential.
    """

    def __init__(
        self,
        table: Table,
        grace: GracePeriods,
        returning: GracePeriods,
        note: Callable[[str, str], None] = lambda *_: None,
    ) -> None:
        """`grace` is for unknown credentials, `returning` for those that may be void on this node only.

        `note` is called with a project and an address if the project's correct credential comes from an address that
        no agent has.
        """
        self._table = table
        self._grace = grace
        self._returning = returning
        self._note = note

    def identify(self, *, credential: str, address: str) -> Entry | Stranger:
        """Returns the entry of the project to which the credential belongs: that of its bot, provider or servers."""
        virtual = digest(credential)
        entry = self._table.find(virtual)
        if entry is not None:
            return self._compare(entry, address)
        if self._table.may_return(virtual):
            return Stranger.INVALID if self._returning.is_over(address, virtual) else Stranger.LATER
        if self._table.is_void(virtual) or self._grace.is_over(address, virtual):
            return Stranger.INVALID
        return Stranger.LATER

    def find_address(self, address: str) -> Entry | Stranger:
        """Returns the entry of the project whose agent has this address."""
        entry = self._table.find_address(address)
        if entry is not None:
            return self._admit(entry)
        return Stranger.INVALID if self._grace.is_over(address, "") else Stranger.LATER

    def _compare(self, entry: Entry, address: str) -> Entry | Stranger:
        if entry.assigned:
            counts = self._table.counts(entry) and self._table.counts_from(entry, address)
            return self._admit(entry) if counts else Stranger.LATER
        if entry.address in (None, address):
            return self._admit(entry)
        if self._table.has_address(address):
            return Stranger.INVALID
        self._note(entry.project, address)
        return Stranger.ASTRAY

    def _admit(self, entry: Entry) -> Entry | Stranger:
        return entry if self._table.counts(entry) else Stranger.LATER
