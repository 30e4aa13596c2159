"""Records what a call costs, no matter how it ends."""

from dataclasses import replace

from gateway.budgets.changes import Reservation
from gateway.meters.meter import Meter
from gateway.meters.usage import Usage
from gateway.pipes.draining import Drained


class CallCost:
    """The usage is zero until the provider is asked, then the whole reservation until the answer reports its usage."""

    def __init__(self, reservation: Reservation) -> None:
        self.reservation = reservation
        self.usage = Usage()
        self.is_error = True
        self.exceeds_request = False
        """Whether the answer is certainly longer than requested."""
        self.model = ""
        """The model that answered; empty if the answer does not name it."""

    @property
    def _bound(self) -> Usage:
        return Usage(self.reservation.input, self.reservation.output)

    def mark_sent(self) -> None:
        self.usage = replace(self._bound, is_estimated=True)

    def mark_extended(self, reservation: Reservation) -> None:
        """Records that more was reserved for an answer that is longer than requested."""
        self.reservation, self.exceeds_request = reservation, True
        self.mark_sent()

    def mark_free(self) -> None:
        """Records that the provider was not reached or has refused."""
        self.usage = Usage()

    def mark_complete(self, meter: Meter) -> None:
        """Records a complete answer, even if the agent has not read all of it."""
        self.usage, self.model = meter.final(self._bound), meter.model
        self.is_error = False

    def mark_abandoned(self, meter: Meter, drained: Drained) -> None:
        """Records an answer whose agent is gone. If it arrives too fast to be read, the whole reservation counts.

        Many agents hang up once they have read the last event, before the answer ends. That is no error.
        """
        if drained is Drained.COMPLETE:
            self.mark_complete(meter)
        elif drained is Drained.INCOMPLETE:
            self.mark_broken(meter)

    def mark_broken(self, meter: Meter) -> None:
        self.usage, self.model = meter.estimate(self._bound), meter.model
