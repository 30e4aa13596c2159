"""Programs inside a container of a real engine."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FORGET = "rm -rf /data/*"
"""Deletes all that the agent keeps, for a shell inside its container."""


def run_inside(client: Any, container: str, *command: str) -> tuple[int, str]:
    """Returns the exit code and the output of a command. `client` is docker-py's.

    It does not use docker-py's `exec_start`, which reads past the buffer of the response and loses output that comes
    with the head.
    """
    made = client.exec_create(container, list(command))
    answer = client._post_json(client._url("/exec/{0}/start", made["Id"]), data={"Detach": False, "Tty": False})
    output = b"".join(client._multiplexed_buffer_helper(answer)).decode(errors="replace")
    return int(client.exec_inspect(made)["ExitCode"]), output


@contextmanager
def stopped(client: Any, container: str) -> Iterator[None]:
    """Stops the container's own programs meanwhile. Programs that are run in addition continue."""
    ids = [int(row[1]) for row in client.top(container)["Processes"]]
    for each in ids:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in ids:
            os.kill(each, signal.SIGCONT)
