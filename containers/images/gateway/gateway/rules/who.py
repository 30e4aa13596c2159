"""Who asks: the virtual credential and the source address must both be those of one project."""

from collections import OrderedDict
from collections.abc import Callable
from enum import Enum, auto
from math import inf

from gateway.entries.entry import Entry, digest
from gateway.entries.table import Table
from gateway.rules.refusals import RefusedError, Why

ADDRESSES = 4096
CREDENTIALS = 64
"""How many unknown credentials are remembered: of so many addresses so many each. The oldest are forgotten."""


class Stranger(Enum):
    LATER = auto()
    """Nobody is known by this credential yet, or not at this address: the entry of a new container may be on its way.
    Or it has no lease just now, or is void on this node and perhaps on no other."""
    ASTRAY = auto()
    """The agent itself, most likely, whose address a rule on the host changes. Somebody on the host looks the same."""
    NOBODY = auto()


_WORDS = {
    Stranger.LATER: "Service Unavailable",
    Stranger.ASTRAY: "This agent's requests come from an address that is not its own: a rule on the host changes it.",
}


def let_in(found: Entry | Stranger, *, otherwise: RefusedError) -> Entry:
    """Raises RefusedError for a stranger: `otherwise` for nobody's."""
    if isinstance(found, Entry):
        return found
    if found is Stranger.NOBODY:
        raise otherwise
    # A connection keeps its address, also when the rule that has changed it is gone.
    headers = {"Connection": "close"} if found is Stranger.ASTRAY else None
    raise RefusedError(Why.LATER, _WORDS[found], retry_after=1, headers=headers)


class Comparison:
    """When the service has last compared with its rows what this gateway knows, and found that it has missed nothing.

    As long as it does not, this gateway cannot tell what counts nowhere from what it alone has not heard of.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._began = self.found_equal_at = -inf

    def begin(self) -> None:
        self._began = self._now()

    def find_equal(self) -> None:
        self.found_equal_at = self._began


class Grace:
    """How long a credential that does not count has been shown by an address."""

    def __init__(
        self, seconds: float, now: Callable[[], float], *, begins_anew: bool = False, until: Comparison | None = None
    ) -> None:
        """`begins_anew`: after as many seconds in which it was not shown. It lasts `until` a comparison after it has
        found nothing.
        """
        self._seconds = seconds
        self._now = now
        self._begins_anew = begins_anew
        self._until = until
        self._seen: OrderedDict[str, OrderedDict[str, tuple[float, float]]] = OrderedDict()
        """When the first time, and the last."""

    def is_over(self, address: str, virtual: str) -> bool:
        of_address = self._seen.setdefault(address, OrderedDict())
        now = self._now()
        first, last = of_address.get(virtual, (now, now))
        if self._begins_anew and now - last >= self._seconds:
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
    """Tells agents from strangers.

    A right credential from another agent's address is a stolen one. From an address of nobody (the host's, mostly) it
    may be stolen, or the agent's own, whose packets a rule of address translation on the host has rewritten. Nobody can
    tell, also while the agent is heard at its own address: connections from before such a rule keep theirs. So it is
    asked to come again, and never let in: agents that are told that their credential is wrong give up, and blame it.
    """

    def __init__(
        self, table: Table, grace: Grace, returning: Grace, note: Callable[[str, str], None] = lambda *_: None
    ) -> None:
        """`grace` is of unknown credentials, `returning` of such as may be void on this node alone. `note` is told of a
        right credential from an address of nobody: the project and that address.
        """
        self._table = table
        self._grace = grace
        self._returning = returning
        self._note = note

    def identify(self, *, credential: str, address: str) -> Entry | Stranger:
        """The entry of the project whose credential this is. It may be that of the bot or that of the provider."""
        virtual = digest(credential)
        entry = self._table.find(virtual)
        if entry is not None:
            return self._compare(entry, address)
        if self._table.may_return(virtual):
            return Stranger.NOBODY if self._returning.is_over(address, virtual) else Stranger.LATER
        if self._table.is_void(virtual) or self._grace.is_over(address, virtual):
            return Stranger.NOBODY
        return Stranger.LATER

    def find_address(self, address: str) -> Entry | Stranger:
        """The entry of the project whose agent has this address."""
        entry = self._table.find_address(address)
        if entry is not None:
            return self._admit(entry)
        return Stranger.NOBODY if self._grace.is_over(address, "") else Stranger.LATER

    def _compare(self, entry: Entry, address: str) -> Entry | Stranger:
        if entry.assigned:
            counts = self._table.counts(entry) and self._table.counts_from(entry, address)
            return self._admit(entry) if counts else Stranger.LATER
        if entry.address in (None, address):
            return self._admit(entry)
        if self._table.has_address(address):
            return Stranger.NOBODY
        self._note(entry.project, address)
        return Stranger.ASTRAY

    def _admit(self, entry: Entry) -> Entry | Stranger:
        return entry if self._table.counts(entry) else Stranger.LATER
