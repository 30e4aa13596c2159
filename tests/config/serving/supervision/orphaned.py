"""A parent with one child, which waits for a server that never answers and ignores SIGTERM.

It prints the process id of the child, which the first argument names, and waits. When its standard input is closed, it
cuts the lifeline and lives on, like a program that has handed over.
"""

import os
import signal
import socket
import sys
import time

from config.serving.supervision.child_starts import ChildStarter


def wait_for_silent_server() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    silent = socket.create_server(("127.0.0.1", 0))
    with socket.create_connection(silent.getsockname()) as client:
        sys.stdout.write(f"{os.getpid()}\n")
        sys.stdout.flush()
        client.recv(1)


if __name__ == "__main__":
    starter = ChildStarter(forks="fork" in sys.argv)
    child = starter.start(sys.argv[1], wait_for_silent_server)
    sys.stdin.read()
    os.close(starter.lifeline)
    time.sleep(600)
