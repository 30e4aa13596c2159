"""Passes a call on to the Bot API, with the real token instead of the virtual one."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from weakref import WeakValueDictionary

import aiohttp
from aiohttp import web

from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Entry, digest
from gateway.meters.document_meter import BlindMeter
from gateway.pipes.forwarding import pass_on, pass_redacted
from gateway.pipes.guard import length_of, pieces_of, read_body, read_start
from gateway.pipes.upstream import ask
from gateway.rules.allowlist import passed_headers
from gateway.rules.rates import Rates
from gateway.sightings import Sightings
from gateway.telegram.methods import is_message
from gateway.telegram.polling import poll
from gateway.telegram.polls import Polls
from gateway.telegram.proof import read_proof
from gateway.telegram.telegram_request import TelegramRequest

LARGEST_UPLOAD = 52 * 1024 * 1024
"""Bytes: Telegram accepts files of 50 MB, and the form around them needs some more."""
SMALL = 64 * 1024
"""Bytes up to which a request's body is read before Telegram is asked. The rest is passed on in pieces."""
SILENT_FOR = 65.0
"""Seconds for which Telegram may send nothing. It holds a poll for 50."""

TRANSFERS = 16
"""Files that a project downloads and uploads at a time. One that an end does not read takes 1.4 MB of memory."""
_HEADERS = frozenset({"accept", "content-type", "range"})
_NO_WEBHOOK = {"ok": True, "result": True, "description": "Webhook is already deleted"}


class TelegramCalls:
    def __init__(
        self, client: aiohttp.ClientSession, polls: Polls, sightings: Sightings, ledger: Ledger, rates: Rates
    ) -> None:
        self._client = client
        self._polls = polls
        self._sightings = sightings
        self._ledger = ledger
        self._rates = rates
        self._hooked: set[str] = set()
        """Projects whose bots have a webhook, according to Telegram's last answer to a poll."""
        self._transfers: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def call(self, request: TelegramRequest) -> web.StreamResponse:
        """Raises RefusedError."""
        request.check()
        body = await self._body(request)
        if request.path.is_file or not isinstance(body, bytes | None):
            async with self._transfers.setdefault(request.entry.project, asyncio.Semaphore(TRANSFERS)):
                return await self._ask(request.renewed(), body)
        request = request.renewed()
        if request.is_webhook_removal and request.entry.project not in self._hooked:
            return web.json_response(_NO_WEBHOOK)
        if request.is_poll:
            ask = partial(self._ask, request, body)
            return await poll(self._polls, digest(request.bot.token), request.entry.project, ask)
        return await self._ask(request, body)

    async def _body(self, request: TelegramRequest) -> bytes | AsyncIterator[bytes] | None:
        """Returns the whole body, or an upload whose first pieces have arrived.

        So the token is that of the moment when Telegram gets the first byte.
        """
        if not request.http.body_exists or request.path.is_file:
            return None
        if request.is_poll or request.is_webhook_removal:
            return await read_body(request.http, SMALL)
        length = length_of(request.http, LARGEST_UPLOAD)
        if length is None or length > SMALL:
            self._rates.check_share(request.entry)
        pieces = pieces_of(request.http, LARGEST_UPLOAD)
        start = await read_start(pieces, SMALL)
        return start if len(start) <= SMALL else self._uploaded(request.entry, start, pieces)

    async def _uploaded(self, entry: Entry, start: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        self._rates.passed(entry, len(start))
        yield start
        async for piece in rest:
            self._rates.passed(entry, len(piece))
            yield piece

    async def _ask(
        self,
        request: TelegramRequest,
        body: bytes | AsyncIterator[bytes] | None,
        answered: asyncio.Event | None = None,
    ) -> web.StreamResponse:
        http, entry = request.http, request.entry
        headers = passed_headers(http.headers.items(), _HEADERS)
        if not isinstance(body, bytes | None) and http.content_length is not None:
            headers["content-length"] = str(http.content_length)
        async with ask(
            self._client,
            http.method,
            request.url,
            headers=headers,
            body=body,
            silent_for=SILENT_FOR,
            charge=partial(self._rates.spent, entry),
        ) as answer:
            if answered is not None:
                answered.set()
            if answer.status >= 400:
                return await self._pass_error(request, answer)
            self._note(request, answer.status)
            return await pass_on(
                http, answer, secrets=(request.secret,), meter=BlindMeter(), pay=partial(self._rates.pay, entry)
            )

    def _note(self, request: TelegramRequest, status: int, error: bytes = b"") -> None:
        project, proof = request.entry.project, read_proof(request.method, status, error)
        self._sightings.note(request.entry, proof, is_poll=status == 200 and request.is_poll)
        if status == 200 and is_message(request.method):
            self._ledger.messages.count(project)
        if status == 200 and (request.is_poll or request.is_webhook_removal):
            self._hooked.discard(project)

    async def _pass_error(self, request: TelegramRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        body, response = await pass_redacted(answer, secrets=(request.secret,))
        self._note(request, answer.status, body)
        if answer.status == 409 and request.is_poll and b"webhook" in body.lower():
            self._hooked.add(request.entry.project)
        return response
