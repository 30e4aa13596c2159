"""Handles SIGTERM before importing anything else, because an agent that is stopped while it starts must also exit with
0.
"""

import os
import signal


def begin() -> None:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    from assistant.start import main  # noqa: PLC0415 - importing takes long enough for a SIGTERM to arrive

    main()


if __name__ == "__main__":
    begin()
