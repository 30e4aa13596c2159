"""Commands inside a container of a real engine."""

from typing import Any


def run_inside(client: Any, container: str, *command: str) -> tuple[int, str]:
    """Returns the exit code and the output of a command. `client` is docker-py's.

    Not by its `exec_start`, which reads past the buffer of the response and loses output that comes with the head.
    """
    made = client.exec_create(container, list(command))
    answer = client._post_json(client._url("/exec/{0}/start", made["Id"]), data={"Detach": False, "Tty": False})
    output = b"".join(client._multiplexed_buffer_helper(answer)).decode(errors="replace")
    return int(client.exec_inspect(made)["ExitCode"]), output
