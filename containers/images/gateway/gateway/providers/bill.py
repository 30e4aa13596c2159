"""What a call counts, whatever becomes of it."""

from dataclasses import replace

from gateway.budgets.rows import Reservation
from gateway.meters.meter import Meter
from gateway.meters.usage import Usage
from gateway.pipes.rest import Rest


class Bill:
    """Nothing until the provider is asked. Then all that was reserved, until its answer says what it has cost."""

    def __init__(self, reservation: Reservation) -> None:
        self.reservation = reservation
        self.usage = Usage()
        self.is_error = True
        self.is_beyond = False
        """Whether the answer is longer than was asked for, beyond doubt."""
        self.model = ""
        """That has answered, as far as its answer says."""

    @property
    def _bound(self) -> Usage:
        return Usage(self.reservation.input, self.reservation.output)

    def is_asked(self) -> None:
        self.usage = replace(self._bound, is_estimated=True)

    def is_longer(self, reservation: Reservation) -> None:
        """Than was asked for: more is reserved for it."""
        self.reservation, self.is_beyond = reservation, True
        self.is_asked()

    def is_free(self) -> None:
        """The provider was not reached, or has refused."""
        self.usage = Usage()

    def is_complete(self, meter: Meter) -> None:
        self.is_told(meter)
        self.is_error = False

    def is_told(self, meter: Meter) -> None:
        """The provider has said all, though the agent has not read it."""
        self.usage, self.model = meter.final(self._bound), meter.model

    def is_left(self, meter: Meter, rest: Rest) -> None:
        """The agent has gone. Of what comes too fast to be read all that is reserved counts."""
        if rest is Rest.WHOLE:
            self.is_told(meter)
        elif rest is Rest.SEEN:
            self.is_broken(meter)

    def is_broken(self, meter: Meter) -> None:
        self.usage, self.model = meter.estimate(self._bound), meter.model
