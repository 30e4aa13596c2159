"""The two ends of the gateway's benchmark: an upstream that streams and lets polls wait, and what is compared with it.

python -m tests.benchmarks.gateway_ends upstream PORT PIECES SECONDS
python -m tests.benchmarks.gateway_ends bare PORT UPSTREAM
python -m tests.benchmarks.gateway_ends relay PORT UPSTREAM
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from typing import cast

import aiohttp
import uvloop
from aiohttp import web

POLL = 50.0


def make_upstream(pieces: float, seconds: float) -> web.Application:
    """Each event says when it was sent, by a clock that all processes of the machine share."""

    async def stream(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        began = time.monotonic()
        for number in range(int(pieces * seconds)):
            await asyncio.sleep(max(0.0, began + number / pieces - time.monotonic()))
            event = {"choices": [{"delta": {"content": "word "}}], "at": time.monotonic()}
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
        usage = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": int(pieces * seconds)}}
        await response.write(f"data: {json.dumps(usage)}\n\n".encode())
        return response

    async def poll(_request: web.Request) -> web.Response:
        await asyncio.sleep(POLL)
        return web.json_response({"ok": True, "result": []})

    application = web.Application()
    application.router.add_post("/v1/chat/completions", stream)
    application.router.add_route("*", "/{bot}/getUpdates", poll)
    return application


def make_bare(upstream: str) -> web.Application:
    """Forwards the request, and passes the answer on as it comes."""

    async def pass_through(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        kind = {"Content-Type": request.headers.get("Content-Type", "application/json")}
        url = f"http://127.0.0.1:{upstream}{request.rel_url}"
        async with request.app["client"].request(request.method, url, data=body, headers=kind) as answer:
            response = web.StreamResponse(status=answer.status)
            response.content_type = answer.content_type
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
        return response

    async def with_client(application: web.Application) -> AsyncIterator[None]:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
            application["client"] = client
            yield

    application = web.Application()
    application.cleanup_ctx.append(with_client)
    application.router.add_route("*", "/{path:.*}", pass_through)
    return application


class Side(asyncio.Protocol):
    """One side of a relay, which passes bytes on to the other side and reads nothing of them: what the kernel takes."""

    def __init__(self, upstream: str = "", other: "Side | None" = None) -> None:
        self._upstream = upstream
        self._other = other
        self._early = b""
        self._transport: asyncio.Transport
        self._connecting: asyncio.Task[object]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class
        if self._other is None:
            self._connecting = asyncio.ensure_future(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        _, self._other = await loop.create_connection(lambda: Side(other=self), "127.0.0.1", int(self._upstream))
        self._other._transport.write(self._early)

    def data_received(self, data: bytes) -> None:
        if self._other is None:
            self._early += data
        else:
            self._other._transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._other is not None:
            self._other._transport.close()


async def relay(port: int, upstream: str) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Side(upstream), "127.0.0.1", port)
    await server.serve_forever()


def main(what: str, port: str, *rest: str) -> None:
    if what == "relay":
        uvloop.run(relay(int(port), rest[0]))
        return
    application = make_bare(rest[0]) if what == "bare" else make_upstream(*map(float, rest))
    web.run_app(
        application, host="127.0.0.1", port=int(port), print=None, loop=uvloop.new_event_loop(), access_log=None
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
