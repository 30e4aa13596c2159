"""Watches an answer that has begun as a success: its length, and what it proves about the key.

Its status alone proves nothing yet: some providers send it before the model is asked, and the refusal afterwards.
"""

from dataclasses import dataclass, field

from gateway.pipes.draining import Drained
from gateway.providers.length_watch import LengthWatch
from gateway.providers.proof import read_late_proof
from gateway.providers.provider_request import ProviderRequest
from gateway.sightings import Sightings


@dataclass(slots=True)
class AnswerWatch:
    length: LengthWatch
    request: ProviderRequest
    status: int
    sightings: Sightings
    _is_accepted: bool = field(default=False, init=False)

    def check(self) -> bytes:
        """See `LengthLimit`."""
        if not self._is_accepted and self.length.meter.has_content:
            self._accept()
        return self.length.check()

    def bytes_before_check(self) -> int:
        return self.length.bytes_before_check()

    def mark_broken(self) -> None:
        self.length.mark_broken()
        self._conclude(is_whole=False)

    def mark_abandoned(self, drained: Drained) -> None:
        self.length.mark_abandoned(drained)
        self._conclude(is_whole=drained is Drained.COMPLETE)

    def mark_complete(self) -> None:
        self.length.mark_complete()
        self._conclude(is_whole=True)

    def _conclude(self, *, is_whole: bool) -> None:
        meter = self.length.meter
        if meter.error is not None:
            self.sightings.note(self.request.entry, read_late_proof(self.request.call, meter.error))
        elif not self._is_accepted and (is_whole or meter.has_content):
            self._accept()

    def _accept(self) -> None:
        self._is_accepted = True
        self.sightings.note(self.request.entry, self.request.read_proof(self.status))
