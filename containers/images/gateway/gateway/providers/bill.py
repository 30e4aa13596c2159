"""What a call counts, whatever becomes of it."""

from dataclasses import replace

from gateway.meters.meter import Meter
from gateway.meters.usage import Usage


class Bill:
    """Nothing until the provider is asked. Then all that was reserved, until its answer says what it has cost."""

    def __init__(self, bound: Usage) -> None:
        self._bound = bound
        self.usage = Usage()
        self.is_error = True
        self.model = ""
        """That has answered, as far as its answer says."""

    def is_asked(self) -> None:
        self.usage = replace(self._bound, is_estimated=True)

    def is_free(self) -> None:
        """The provider was not reached, or has refused."""
        self.usage = Usage()

    def is_complete(self, meter: Meter) -> None:
        self.is_told(meter)
        self.is_error = False

    def is_told(self, meter: Meter) -> None:
        """The provider has said all, though the agent has not read it."""
        self.usage, self.model = meter.final(self._bound), meter.model

    def is_broken(self, meter: Meter) -> None:
        self.usage, self.model = meter.estimate(self._bound), meter.model
