"""Logs requests that Django refuses as suspicious or forged: a line now and then, without a traceback.

The sender chooses how many there are, and each is in the access log already. An operator who has forgotten a name of
the service (BERTH_ALLOWED_HOSTS) still reads the reason.
"""

import logging
import time

EVERY = 60.0
"""Seconds for which this process logs no further line of the same kind."""

LONGEST = 300
"""Characters of the reason, which quotes what was sent."""

log = logging.getLogger("berth.refused")


class RefusalsHandler(logging.Handler):
    """For the logger `django.security`: passes one refusal of each kind in each `EVERY`, as a short warning."""

    def __init__(self) -> None:
        super().__init__()
        self._silent_until: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Called with the handler's lock held."""
        now = time.monotonic()
        if now < self._silent_until.get(record.name, now):
            return
        self._silent_until[record.name] = now + EVERY
        kind = record.name.rpartition(".")[2]
        reason = record.getMessage()[:LONGEST]
        log.warning("%s: %r (Said once a minute at most; the access log has every request.)", kind, reason)
