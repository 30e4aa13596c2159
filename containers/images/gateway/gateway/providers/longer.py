"""Answers that are longer than they may be: some providers do not obey that."""

from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Entry
from gateway.meters.meter import Meter
from gateway.providers.asked import Asked
from gateway.providers.bill import Bill

LEAST_MORE = 256
"""Tokens by which more is reserved at the least."""


def may_go_on(ledger: Ledger, entry: Entry, asked: Asked, bill: Bill, meter: Meter) -> bool:
    """Whether the budget has room for what has come of the answer, which is reserved then."""
    while entry.budget.is_set and meter.written() > bill.reservation.output:
        by = max(LEAST_MORE, bill.reservation.output)
        longer = ledger.extend(bill.reservation, entry, by=by, others=asked.others)
        if longer is None:
            return False
        bill.is_longer(longer)
    return True
