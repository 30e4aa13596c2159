"""A Docker engine of a test's own, which the test may end and restart. The usual engine is not touched.

It is in a separate network namespace, which ends with it: restarting it is like rebooting its machine. Needs root,
`unshare` and `dockerd`.
"""

import os
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.waiting import wait_until

DYING_SECONDS = 10.0


class PrivateEngine:
    registries = ""
    """Addresses of registries of the tests, which have no certificate."""

    def __init__(self, home: Path, *, own_network: bool = True) -> None:
        """Without a network of its own it uses that of this process, which must not be the machine's."""
        self.home = home
        self.data = "data"
        self._spaces = ["--net", "--mount"] if own_network else ["--mount"]
        self.url = f"unix://{home}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, first: str = "") -> None:
        """Starts it and waits until it answers. `first` is a shell script that runs in its new network before it."""
        options = " ".join(
            f"--{name} {value}"
            for name, value in (
                ("host", self.url),
                ("data-root", self.home / self.data),
                ("exec-root", self.home / "exec"),
                ("pidfile", self.home / "pid"),
            )
        )
        if self.registries:
            options += f" --insecure-registry {self.registries}"
        (self.home / "pid").unlink(missing_ok=True)
        self._forget_containerd()
        with (self.home / "log").open("ab") as output:
            self._process = subprocess.Popen(
                # The mounts that the engine makes end with their namespace.
                [
                    "unshare",
                    *self._spaces,
                    "sh",
                    "-c",
                    f"set -e; ip link set lo up\n{first}\nexec dockerd {options}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        wait_until(self._has_come, within=300, what=self.last_words)

    def command(self, *words: str) -> list[str]:
        """Returns the command, to be run in the engine's network."""
        assert self._process is not None
        return ["nsenter", f"--net=/proc/{self._process.pid}/ns/net", *words]

    def run(self, *words: str) -> None:
        """Runs the command with the engine's disks mounted."""
        subprocess.run(["nsenter", f"--mount=/proc/{self.pid}/ns/mnt", *words], check=True)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _forget_containerd(self) -> None:
        """A containerd that dies with its dockerd, or is dead and not reaped, would count as the next one's own."""
        file = self.home / "exec" / "containerd" / "containerd.pid"
        if not file.exists():
            return
        with suppress(AssertionError):  # if it continues, the next dockerd takes it over
            wait_until(lambda: not _runs(int(file.read_text())), within=DYING_SECONDS)
            file.unlink()

    def _has_come(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.last_words()
        return self._answers()

    def last_words(self) -> str:
        return (self.home / "log").read_text(errors="replace")[-5000:]

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            try:
                probe.connect(self.url.removeprefix("unix://"))
                probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b" 200 " in probe.recv(100)
            except OSError:
                return False

    def end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(60)

    def revive(self) -> None:
        """Starts it if it has ended by itself, as a machine's service manager does."""
        if self._process is not None and self._process.poll() is not None:
            self.start()

    def close(self) -> None:
        """A dockerd that was killed leaves its containerd, which the last one has taken over."""
        if self._process is not None and self._process.poll() is None:
            self.end(signal.SIGTERM)
        containerd = self.home / "exec" / "containerd" / "containerd.pid"
        if containerd.exists():
            with suppress(ProcessLookupError):
                os.kill(int(containerd.read_text()), signal.SIGTERM)
        shutil.rmtree(self.home, ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
