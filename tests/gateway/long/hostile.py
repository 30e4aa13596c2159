"""Measures how much a hostile agent slows down another one.

python -m tests.gateway.long.hostile DEED PORT ADDRESS KEY TOKEN    runs one of the attacks until it is ended
"""

import http.client
import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.long.scenes import Figures
from tests.ports import reserve_port

HEAVY = b'{"model":"m","messages":[],"a":[' + b"{}," * 49_000 + b"{}]}"
PARTS = b'{"model":"m","messages":[{"content":[' + b'{"type":"image"},' * 49_000 + b"{}]}]}"
LARGE = b'{"model":"m","messages":[{"content":"' + b"a" * (27 << 20) + b'"}]}'
AT_A_TIME = 4
PAUSE = 0.1
"""Seconds for an attack to settle after it was paused or resumed."""


@dataclass(frozen=True)
class Attacker:
    port: int
    address: str
    key: str
    token: str

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 5, (self.address, 0))

    def keep_asking(self, head: str, body: bytes = b"") -> None:
        with self.connect() as connection:
            while True:
                connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                if not connection.recv(65536):
                    return


def _flood(who: Attacker) -> None:
    who.keep_asking(f"GET /tg/bot1:{who.token}/getMe HTTP/1.1\r\nHost: a\r\n")


def _guess(who: Attacker) -> None:
    who.keep_asking("GET /llm/v1/models HTTP/1.1\r\nHost: a\r\nx-api-key: unknown\r\n")


def _send_heavy(who: Attacker) -> None:
    who.keep_asking(f"POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: {who.key}\r\n", HEAVY)


def _send_parts(who: Attacker) -> None:
    who.keep_asking(f"POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: {who.key}\r\n", PARTS)


def _send_large(who: Attacker) -> None:
    who.keep_asking(f"POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: {who.key}\r\n", LARGE)


def _upload(who: Attacker) -> None:
    who.keep_asking(f"POST /tg/bot1:{who.token}/sendDocument HTTP/1.1\r\nHost: a\r\n", LARGE)


def _connect(who: Attacker) -> None:
    with ExitStack() as stack:
        for _ in range(1000 // AT_A_TIME):
            stack.enter_context(who.connect())
        time.sleep(1)


def _send_endlessly(who: Attacker) -> None:
    head = f"POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: {who.key}\r\n"
    with who.connect() as connection:
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        while True:
            connection.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def _extend(who: Attacker) -> None:
    """Sends an endless chunk extension."""
    with who.connect() as connection:
        head = f"POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: {who.key}\r\n"
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n1;a=".encode())
        while True:
            connection.sendall(b"x" * 0x10000)


def _dawdle(who: Attacker) -> None:
    """Sends bodies byte by byte."""
    head = f"POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: {who.key}\r\nContent-Length: 999\r\n\r\n"
    with ExitStack() as stack:
        connections = [stack.enter_context(who.connect()) for _ in range(120 // AT_A_TIME)]
        for connection in connections:
            connection.sendall(head.encode())
        for _ in range(900):
            time.sleep(0.5)
            for connection in connections:
                connection.sendall(b" ")


DEEDS: dict[str, Callable[[Attacker], None]] = {
    "flood": _flood, "guesses": _guess, "heavy": _send_heavy, "parts": _send_parts, "large": _send_large,
    "uploads": _upload, "connections": _connect, "endless": _send_endlessly,
    "extensions": _extend, "slow bodies": _dawdle,
}  # fmt: skip


def slow_others(
    alice: Agent, bob: Agent, provider: StreamingProvider, *, rounds: int, deeds: Iterable[str] = DEEDS
) -> Figures:
    """Returns how much longer Bob's streams take during each of Alice's attacks: for the median and the slowest tenth.

    Streams with and without the attack alternate, because the machine's speed drifts. The gateway has a processor core
    of its own, and Alice's upstream does not exist, so that only the gateway is measured.
    """
    figures: Figures = {}
    provider.words = 100
    entry = alice.entry(limits={"requests": 10**9})
    for upstream in ("telegram", "provider"):
        entry[upstream] |= {"base": f"http://127.0.0.1:{reserve_port()}"}
    alice.gateway.apply(entry)
    first, *others = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(alice.gateway.pid, {first})
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), others or {first})
    for name in deeds:
        alone, beside, taken = list[float](), list[float](), list[float]()
        with doing(name, alice) as deed:
            for _ in range(rounds):
                deed.send_signal(signal.SIGSTOP)
                time.sleep(PAUSE)
                alone.append(_stream(bob))
                deed.send_signal(signal.SIGCONT)
                taken.append(_taken(alice.gateway.pid))
                beside.append(_stream(bob))
        figures[name] = statistics.median(beside) / statistics.median(alone)
        figures[f"{name}, the slowest tenth"] = (
            statistics.quantiles(beside, n=10)[-1] / statistics.quantiles(alone, n=10)[-1]
        )
        figures[f"{name}, of the processor"] = statistics.mean(taken)
    return figures


def _taken(pid: int) -> float:
    """Returns the fraction of a core that the gateway uses during the attack alone."""
    before, began = _processor_time(pid), time.monotonic()
    time.sleep(PAUSE)
    return (_processor_time(pid) - before) / (time.monotonic() - began)


def _processor_time(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def doing(name: str, agent: Agent) -> Iterator["subprocess.Popen[bytes]"]:
    """Runs an attack in a separate process with low priority."""
    words = [name, str(agent.gateway.port), agent.address, agent.virtual_key, agent.virtual_token]
    process = subprocess.Popen(["nice", "-n", "8", sys.executable, "-m", "tests.gateway.long.hostile", *words])
    try:
        time.sleep(4)  # until the allowed burst is over
        yield process
    finally:
        process.kill()
        process.wait()


def _stream(agent: Agent) -> float:
    began = time.monotonic()
    assert agent.chat("hello", stream=True).status == 200
    return time.monotonic() - began


def main(name: str, port: str, *rest: str) -> None:
    who = Attacker(int(port), *rest)

    def repeat() -> None:
        while True:
            with suppress(OSError, http.client.HTTPException):
                DEEDS[name](who)

    for _ in range(AT_A_TIME):
        threading.Thread(target=repeat, daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
