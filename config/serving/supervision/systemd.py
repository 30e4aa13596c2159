"""Reports the state of the service to systemd, if it asks for that (sd_notify(3), a line on a Unix socket)."""

import os
import socket
import time
from contextlib import suppress

READY, STOPPING, ALIVE = "READY=1", "STOPPING=1", "WATCHDOG=1"


class Systemd:
    """For a service of `Type=notify`. Does nothing without one."""

    def __init__(self) -> None:
        """Removes the socket from the environment, so that no child reports for the service."""
        self._address = os.environ.pop("NOTIFY_SOCKET", "")
        self._pause = int(os.environ.pop("WATCHDOG_USEC", "0")) / 1e6 / 3
        if os.environ.pop("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
            self._pause = 0.0
        self._environment = {"NOTIFY_SOCKET": self._address, "WATCHDOG_USEC": str(int(self._pause * 3e6))}
        self._again_at = 0.0

    def notify(self, *states: str) -> None:
        if not self._address:
            return
        name = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        # A systemd that does not listen is no reason to stop serving.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.settimeout(1.0)
            sender.sendto("\n".join(states).encode(), name)

    def reloading(self) -> None:
        self.notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def show_life(self) -> None:
        """Three times within the time after which systemd would consider the service dead."""
        now = time.monotonic()
        if self._pause and now >= self._again_at:
            self._again_at = now + self._pause
            self.notify(ALIVE)

    def environment(self) -> dict[str, str]:
        """For the program that replaces this one."""
        return {name: value for name, value in self._environment.items() if value not in {"", "0"}}
