"""The very first instant: an agent told to stop while Python still starts must also end with 0."""

import os
import signal


def begin() -> None:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    from assistant.start import main  # noqa: PLC0415 - after the line above, as importing takes its time

    main()


if __name__ == "__main__":
    begin()
