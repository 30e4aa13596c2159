"""Handles answers that are longer than allowed, because some providers ignore the limit."""

from contextlib import suppress
from dataclasses import dataclass

from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Entry, Kind
from gateway.meters.meter import Meter
from gateway.pipes.draining import Drained
from gateway.providers.asked import Asked
from gateway.providers.bill import Bill
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why, shape_in_stream
from gateway.truth import Truth

LEAST_MORE = 256
"""The least number of tokens by which a reservation grows."""


@dataclass(frozen=True, slots=True)
class Longer:
    """Watches the length of one answer."""

    ledger: Ledger
    truth: Truth
    entry: Entry
    kind: Kind
    asked: Asked
    bill: Bill

    def end(self, meter: Meter) -> bytes:
        """The last that the agent is told where the budget has no room for what has come, which is reserved otherwise.

        Empty while the answer may go on. How much comes of a sound that is written down nobody asks for: what is
        reserved bounds it.
        """
        if not (self.asked.has_length and self.entry.budget.is_set):
            return b""
        try:
            while meter.exceeds(self.bill.reservation.output):
                self._extend(max(LEAST_MORE, self.bill.reservation.output))
        except RefusedError as error:
            note_refusal(self.truth, self.entry, error)
            kind = Kind.ANTHROPIC if self.asked.call is Call.MESSAGES else self.kind
            return shape_in_stream(error, kind, is_response=self.asked.call is Call.RESPONSES)
        return b""

    def is_broken(self, meter: Meter) -> None:
        self._cover(meter)
        self.bill.is_broken(meter)

    def is_left(self, meter: Meter, rest: Drained) -> None:
        self._cover(meter)
        self.bill.is_left(meter, rest)

    def is_complete(self, meter: Meter) -> None:
        self._cover(meter)
        self.bill.is_complete(meter)

    def _cover(self, meter: Meter) -> None:
        """Reserves for what has come of an answer that was longer than was asked for, which bounds it no more: likely
        more than what is beyond doubt. It is counted as far as the budget has room for it."""
        more = meter.likely_tokens() - self.bill.reservation.output
        if self.bill.is_beyond and more > 0:
            with suppress(RefusedError):
                self._extend(more)

    def _extend(self, by: int) -> None:
        """Raises RefusedError."""
        longer = self.ledger.extend(self.bill.reservation, self.entry, by=by, fallbacks=self.asked.others)
        self.bill.is_longer(longer)


def note_refusal(truth: Truth, entry: Entry, error: RefusedError) -> None:
    if error.why is Why.QUOTA:
        truth.note_budget(entry.project, error.headers["X-Berth-Budget"], resets=error.headers["X-Berth-Resets"])
