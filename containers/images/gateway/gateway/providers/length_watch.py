"""Handles answers that are longer than allowed, because some providers ignore the limit."""

from contextlib import suppress
from dataclasses import dataclass

from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Entry, Kind
from gateway.meters.meter import Meter
from gateway.pipes.draining import Drained
from gateway.pipes.piece_filter import MAX_UNREAD_SIZE
from gateway.providers.call_cost import CallCost
from gateway.providers.parsed_call import ParsedCall
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why, shape_in_stream
from gateway.sightings import Sightings

MIN_EXTENSION = 256
"""The least number of tokens by which a reservation grows."""


@dataclass(frozen=True, slots=True)
class LengthWatch:
    """Watches the length of one answer."""

    meter: Meter
    ledger: Ledger
    sightings: Sightings
    entry: Entry
    kind: Kind
    parsed: ParsedCall
    cost: CallCost

    def check(self) -> bytes:
        """Reserves more for an answer that exceeds its limit. Returns b"" while the answer may continue.

        If the budget has no room, returns an error in the format of the stream, which ends the answer. Calls whose
        answers have no limit, such as transcriptions, are bounded by their reservation.
        """
        if not self._is_limited:
            return b""
        try:
            while self.meter.exceeds(self.cost.reservation.output):
                self._extend(max(MIN_EXTENSION, self.cost.reservation.output))
        except RefusedError as error:
            note_refusal(self.sightings, self.entry, error)
            kind = Kind.ANTHROPIC if self.parsed.call is Call.MESSAGES else self.kind
            return shape_in_stream(error, kind, is_response=self.parsed.call is Call.RESPONSES)
        return b""

    def bytes_before_check(self) -> int:
        return self.meter.bytes_below(self.cost.reservation.output) if self._is_limited else MAX_UNREAD_SIZE

    @property
    def _is_limited(self) -> bool:
        return self.parsed.has_length and self.entry.budget.is_set

    def mark_broken(self) -> None:
        self._cover()
        self.cost.mark_broken(self.meter)

    def mark_abandoned(self, drained: Drained) -> None:
        self._cover()
        self.cost.mark_abandoned(self.meter, drained)

    def mark_complete(self) -> None:
        self._cover()
        self.cost.mark_complete(self.meter)

    def _cover(self) -> None:
        """Reserves the likely length of an answer that exceeded its limit, because the limit no longer bounds it.

        So far only the certain length is reserved. The rest counts as far as the budget has room for it.
        """
        more = self.meter.likely_tokens() - self.cost.reservation.output
        if self.cost.exceeds_request and more > 0:
            with suppress(RefusedError):
                self._extend(more)

    def _extend(self, by: int) -> None:
        """Raises RefusedError."""
        extended = self.ledger.extend(self.cost.reservation, self.entry, by=by, fallbacks=self.parsed.fallbacks)
        self.cost.mark_extended(extended)


def note_refusal(sightings: Sightings, entry: Entry, error: RefusedError) -> None:
    """Notes that the budget is reached, if that is the reason."""
    if error.why is Why.QUOTA:
        sightings.note_budget(entry.project, error.headers["X-Berth-Budget"], resets=error.headers["X-Berth-Resets"])
