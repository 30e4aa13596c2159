"""Requests that no client sends: mutated heads, targets and bodies, thousands of them on raw connections.

python -m tests.gateway.fuzz --requests 100000 [--seed 1] [--begin 0]     takes about five minutes of two processors

It reports its progress. An interrupted run continues with `--begin`. The same seed sends the same requests.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from tests.gateway.agents import Agent

PIECES = (
    b"\r\n", b"\n", b"\r", b"\x00", b" ", b"\t", b":", b"/", b"//", b"/../", b"%2e%2e/", b"%2f", b"%00", b"?", b"#",
    b"@", b"\\", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"HTTP/1.1", b"{", b"[",
    b"http://127.0.0.1/", b"Host: b\r\n", b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"\xff\xfe", b"1e999",
    b"Expect: 100-continue\r\n", b'"model":"x",', b"A" * 9000, b"Authorization: Bearer x\r\n",
    b"Range: bytes=0-\r\n",
)  # fmt: skip
SILENCE = 0.03
"""Seconds to wait for an answer after a request, because most requests are incomplete and get none."""
LONG_SILENCE = 0.3
"""The same if many requests are sent at a time and all wait for the gateway."""
AGENTS = 128
"""Agents that send at a time, so that no agent waits for its share of the gateway's processor time."""
TOGETHER = 100
"""Requests per batch. Each batch has its own random seed, so that any batch can be sent again."""


@dataclass
class Found:
    leaks: list[bytes] = field(default_factory=list)
    """Requests whose answers contained a part of a real credential."""
    unanswered: int = 0
    """The number of requests that the gateway did not answer."""


def fuzz(
    agents: Sequence[Agent], *, requests: int, seed: int, begin: int = 0, silence: float = SILENCE,
    tell: Callable[[int, Found], object] = lambda done, found: None,
) -> Found:  # fmt: skip
    """Sends the requests from number `begin` with all agents at a time. Calls `tell` after each batch, in order."""
    free, found = SimpleQueue[Agent](), Found()
    for agent in agents:
        free.put(agent)

    def send(batch: int) -> Found:
        agent = free.get()
        try:
            size = min(TOGETHER, requests - batch)
            return _send_batch(agent, random.Random(f"{seed} {batch}"), size, silence)
        finally:
            free.put(agent)

    with ThreadPoolExecutor(len(agents)) as threads:
        batches = range(begin, requests, TOGETHER)
        for batch, one in zip(batches, threads.map(send, batches), strict=True):
            found.leaks += one.leaks
            found.unanswered += one.unanswered
            tell(min(batch + TOGETHER, requests), found)
    return found


def _send_batch(agent: Agent, chance: random.Random, size: int, silence: float) -> Found:
    found = Found()
    for _ in range(size):
        data = _mutated(chance.choice(_requests(agent)), chance)
        try:
            answer = agent.send(data, hangs_up_after=silence)
        except TimeoutError:
            found.unanswered += 1
            continue
        if b"CANARY" in answer:
            found.leaks.append(data)
    return found


def _requests(agent: Agent) -> list[bytes]:
    login = f"Host: a\r\nAuthorization: Bearer {agent.virtual_key}\r\n"
    body = '{"model":"model-a","messages":[{"role":"user","content":"a b"}],"stream":true,"max_tokens":5}'
    length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    bot = f"/tg/bot1:{agent.virtual_token}"
    texts = [
        *(f"POST /llm/v1/{path} HTTP/1.1\r\n{login}{length}" for path in ("chat/completions", "messages", "responses")),
        f"GET /llm/v1/models?limit=5 HTTP/1.1\r\n{login}\r\n",
        f"GET {bot}/getMe HTTP/1.1\r\nHost: a\r\n\r\n",
        f"POST {bot}/getUpdates HTTP/1.1\r\nHost: a\r\n{length}",
        f"GET /tg/file/bot1:{agent.virtual_token}/a/b.jpg HTTP/1.1\r\nHost: a\r\n\r\n",
    ]
    return [text.encode() for text in texts]


def _mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed) + 1)
        what = chance.randrange(4)
        if what == 0:
            changed[at:at] = chance.choice(PIECES)
        elif what == 1:
            del changed[at : at + chance.randint(1, 9)]
        elif what == 2:
            changed[at : at + 1] = bytes([chance.randrange(256)])
        else:
            end = at + chance.randint(1, 60)
            changed[at:at] = changed[at:end]
    return bytes(changed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--begin", type=int, default=0, help="a multiple of 100")
    options = parser.parse_args()
    from tests.fakes.streaming import StreamingProvider
    from tests.fakes.telegram import FakeTelegram
    from tests.gateway.process import Gateway
    from tests.gateway.unpacked import unpack_image

    with tempfile.TemporaryDirectory() as folder, FakeTelegram() as telegram, StreamingProvider() as provider:
        gateway = Gateway(unpack_image(Path(folder) / "image"), Path(folder))
        gateway.env["GATEWAY_CONNECTIONS"] = "1000000"  # so that nothing limits the rate
        gateway.start()
        try:
            agents = [Agent(gateway, telegram, provider, number=number) for number in range(1, AGENTS + 1)]
            gateway.apply(*(agent.entry(limits={"requests": 10**9}) for agent in agents))
            found = fuzz(agents, silence=LONG_SILENCE, tell=_show, **vars(options))
            failures = [line for line in gateway.lines if "failed" in line]
        finally:
            gateway.kill()
    sys.stdout.write(f"{len(found.leaks)} leaks, {found.unanswered} unanswered, {len(failures)} failures\n")
    sys.stdout.writelines(f"{each!r}\n" for each in (*found.leaks, *failures))
    sys.exit(bool(found.leaks or failures or found.unanswered))


def _show(done: int, found: Found) -> None:
    if done % 5000 == 0:
        sys.stderr.write(f"--begin {done}: {len(found.leaks)} leaks, {found.unanswered} unanswered so far\n")


if __name__ == "__main__":
    main()
