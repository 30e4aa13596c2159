"""Ends a command on a signal as on Ctrl-C: it puts right what it has begun, and says that it was interrupted."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = "Interrupted. You can run the same command again."
AFTER_INTERRUPT = 130
"""As shells tell that a program was ended by SIGINT."""

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""What service managers and `kill` send, and terminals that are closed."""


class EndedError(KeyboardInterrupt):
    """One of these signals has come."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def listen() -> None:
    """Makes signals end the command by an exception, because it may have something to put right. Those that the shell
    has ignored stay ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def stop_listening() -> None:
    """Lets signals end the process at once: the interpreter's own end has nothing to put right."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for number in ENDING:
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.SIG_DFL)


def end_interrupted(error: KeyboardInterrupt) -> NoReturn:
    """Ends without waiting for threads: one may be building an image. After a signal of `ENDING` the process ends by
    that signal, so that a service manager does not take it for a failure.
    """
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"{INTERRUPTED}\n")
        sys.stderr.flush()
    if isinstance(error, EndedError):
        signal.signal(error.number, signal.SIG_DFL)
        os.kill(os.getpid(), error.number)
    os._exit(AFTER_INTERRUPT)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise EndedError(number)
