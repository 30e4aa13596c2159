"""Runs the gateway in a child, and in another one where the kernel has killed it: it is back before the engine noticed.

The parent has imported everything and does nothing, so that the next child serves some milliseconds after its fork, in
the same container, on the same networks. With the parent the container ends, and the engine starts it again.
"""

import gc
import logging
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable

MOST, MINUTE = 20, 60.0
"""Children that may be killed in a minute. What kills more would kill the next one too: the container ends then, and
the engine waits longer and longer before it starts it again."""
ENDING = (signal.SIGTERM, signal.SIGINT)
AWAITED = (*ENDING, signal.SIGCHLD)

logger = logging.getLogger("gateway")


def supervise(run: Callable[[], None], *, end: Callable[[], object] | None = None) -> int:
    """Returns with what the container is to end: what the child has returned, or 128 and the signal that killed it.

    `end` is called when no other child is to follow, before the last one is told to end.
    """
    supervisor = _Supervisor(end)
    gc.freeze()  # what is there is shared with the children
    killed: deque[float] = deque(maxlen=MOST)
    while True:
        code = supervisor.run_child(run)
        if code >= 0:
            return code
        is_often = len(killed) == MOST and time.monotonic() - killed[0] < MINUTE
        if supervisor.is_over or is_often:
            return 128 - code
        killed.append(time.monotonic())
        logger.error("The gateway was killed by signal %s. It is started again.", -code)


class _Supervisor:
    """It handles no signal, it waits for them: none is lost, whenever it comes, and none meets a child that is gone."""

    def __init__(self, end: Callable[[], object] | None) -> None:
        self.is_over = False
        self._end = end
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)

    def run_child(self, run: Callable[[], None]) -> int:
        child = os.fork()
        if not child:
            for number in ENDING:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
            _leave_with(run)
        while True:
            came = signal.sigwait(AWAITED)
            if came in ENDING:
                if self._end and not self.is_over:
                    self._end()
                self.is_over = True
                os.kill(child, came)  # it is not reaped yet, so that the number is its own
                continue
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)


def _leave_with(run: Callable[[], None]) -> None:
    """Never returns into the parent's code."""
    code = 1
    try:
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - nothing above this line is the child's
        traceback.print_exc()
    finally:
        logging.shutdown()
        sys.stderr.flush()
        os._exit(code)
