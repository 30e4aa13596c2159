"""Records what a call costs, no matter how it ends."""

from dataclasses import replace

from gateway.budgets.rows import Reservation
from gateway.meters.meter import Meter
from gateway.meters.usage import Usage
from gateway.pipes.draining import Drained


class Bill:
    """Zero until the provider is asked, then the whole reservation, until the answer reports its cost."""

    def __init__(self, reservation: Reservation) -> None:
        self.reservation = reservation
        self.usage = Usage()
        self.is_error = True
        self.is_beyond = False
        """Whether the answer is certainly longer than requested."""
        self.model = ""
        """The model that has answered, as far as the answer names it."""

    @property
    def _bound(self) -> Usage:
        return Usage(self.reservation.input, self.reservation.output)

    def is_asked(self) -> None:
        self.usage = replace(self._bound, is_estimated=True)

    def is_longer(self, reservation: Reservation) -> None:
        """Records that more was reserved for an answer that is longer than requested."""
        self.reservation, self.is_beyond = reservation, True
        self.is_asked()

    def is_free(self) -> None:
        """Records that the provider was not reached or has refused."""
        self.usage = Usage()

    def is_complete(self, meter: Meter) -> None:
        self.is_told(meter)
        self.is_error = False

    def is_told(self, meter: Meter) -> None:
        """Records a complete answer, even if the agent has not read it."""
        self.usage, self.model = meter.final(self._bound), meter.model

    def is_left(self, meter: Meter, rest: Drained) -> None:
        """Records that the agent is gone. If the answer arrives too fast to be read, the whole reservation counts."""
        if rest is Drained.COMPLETE:
            self.is_told(meter)
        elif rest is Drained.INCOMPLETE:
            self.is_broken(meter)

    def is_broken(self, meter: Meter) -> None:
        self.usage, self.model = meter.estimate(self._bound), meter.model
