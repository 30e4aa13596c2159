"""Runs the gateway in a child process, and starts another child if one is killed, for example by the kernel, or hangs.

The parent has imported everything and only waits, so that the next child serves a few milliseconds after its fork, in
the same container and on the same networks. If the parent ends, so does the container, and the engine restarts it.
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

from gateway.serving.heartbeat import EVERY, Heartbeat, Looks

MOST, MINUTE = 20, 60.0
"""Children that may be killed in a minute. If more are, the next one would be killed too: the container ends, and the
engine restarts it after longer and longer pauses."""
UNBEATEN_LOOKS = 30
"""Looks in a row, a second or more apart, without a beat of a child that has beaten before: it hangs. Looks are counted
instead of seconds, because a container that is paused as a whole takes none."""

ENDING = (signal.SIGTERM, signal.SIGINT)
AWAITED = (*ENDING, signal.SIGCHLD)

logger = logging.getLogger("gateway")


def supervise(
    run: Callable[[], None], *, end: Callable[[], object] | None = None, heartbeat: Heartbeat | None = None
) -> int:
    """Returns the container's exit code: that of the last child, or 128 plus the number of the signal that killed it.

    Kills a child whose `heartbeat` stops. Calls `end` before it passes on the first signal to end; no other child
    follows then.
    """
    supervisor = _Supervisor(end, heartbeat or Heartbeat())
    gc.freeze()  # keeps the memory of existing objects shared with the children
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
    """Waits for signals instead of handling them, so that none is lost and none is sent to a child that has ended."""

    def __init__(self, end: Callable[[], object] | None, heartbeat: Heartbeat) -> None:
        self.is_over = False
        self._end, self._heartbeat = end, heartbeat
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)

    def run_child(self, run: Callable[[], None]) -> int:
        child = os.fork()
        if not child:
            for number in ENDING:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
            _leave_with(run)
        looks = Looks(self._heartbeat)
        while True:
            found = signal.sigtimedwait(AWAITED, EVERY)
            if found is None:
                _kill_if_hung(child, looks)
                continue
            came = found.si_signo
            if came in ENDING:
                if self._end and not self.is_over:
                    self._end()
                self.is_over = True
                os.kill(child, came)  # the child is not reaped yet, so no other process can have its number
                continue
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)


def _kill_if_hung(child: int, looks: Looks) -> None:
    if looks.count_unbeaten() == UNBEATEN_LOOKS:
        logger.error("The gateway does not go on, and is killed.")
        os.kill(child, signal.SIGKILL)


def _leave_with(run: Callable[[], None]) -> None:
    """Runs the child and ends its process, so that it never returns into the parent's code."""
    code = 1
    try:
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - the code that would handle it is the parent's
        traceback.print_exc()
    finally:
        logging.shutdown()
        sys.stderr.flush()
        os._exit(code)
