"""Handles SIGTERM before importing anything else, because an agent that is stopped while it starts must also exit with
0.
"""

import os
import signal


def begin() -> None:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    from berth_agent.relay.supervisor import supervise  # noqa: PLC0415 - a SIGTERM may arrive while it is imported
    from berth_agent.running import run  # noqa: PLC0415 - the same
    from hermes_adapter.configuration import prepare  # noqa: PLC0415 - the same

    run(lambda status: supervise(status, prepare))


if __name__ == "__main__":
    begin()
