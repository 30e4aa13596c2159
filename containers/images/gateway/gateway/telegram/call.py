"""Passes a call on to the Bot API, with the real token instead of the virtual one."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import aiohttp
from aiohttp import web

from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Bot, Entry, digest
from gateway.meters.document_meter import BlindMeter
from gateway.pipes.forwarding import pass_on, pass_redacted
from gateway.pipes.guard import length_of, pieces_of, read_body
from gateway.pipes.upstream import ask
from gateway.rules.allowlist import passed_headers
from gateway.rules.paths import TelegramPath
from gateway.rules.rates import Rates
from gateway.rules.refusals import RefusedError, Why
from gateway.sightings import Sightings
from gateway.telegram.methods import check_method, is_message, is_poll, is_webhook_removal
from gateway.telegram.polling import poll
from gateway.telegram.polls import Polls

LARGEST_UPLOAD = 52 * 1024 * 1024
"""Bytes: Telegram accepts files of 50 MB, and the form around them needs some more."""
SMALL = 64 * 1024
"""Bytes up to which a request's body is read at once. A longer one is passed on in pieces."""
SILENT_FOR = 65.0
"""Seconds for which Telegram may send nothing. It holds a poll for 50."""

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

    async def call(self, request: web.BaseRequest, entry: Entry, bot: Bot, path: TelegramPath) -> web.StreamResponse:
        """Raises RefusedError."""
        if request.method not in ("GET", "POST"):
            raise RefusedError(Why.NOT_FOUND, "Not Found")
        if path.is_file:
            if request.method != "GET":
                raise RefusedError(Why.NOT_FOUND, "Not Found")
            return await self._ask(request, entry, bot, f"{bot.base}/file/bot{bot.token}/{path.rest}", "", None)
        method = path.rest
        check_method(method)
        url = f"{bot.base}/bot{bot.token}/{method}" + (f"?{path.query}" if path.query else "")
        if is_webhook_removal(method) and entry.project not in self._hooked:
            await read_body(request, SMALL)
            return web.json_response(_NO_WEBHOOK)
        if is_poll(method):
            body = await read_body(request, SMALL)
            return await poll(
                self._polls, digest(bot.token), entry.project,
                partial(self._ask, request, entry, bot, url, method, body),
            )  # fmt: skip
        return await self._ask(request, entry, bot, url, method, await self._body(request, entry))

    async def _body(self, request: web.BaseRequest, entry: Entry) -> bytes | AsyncIterator[bytes] | None:
        if not request.body_exists:
            return None
        length = length_of(request, LARGEST_UPLOAD)
        if length is not None and length <= SMALL:
            return await read_body(request, SMALL)
        self._rates.check_share(entry)
        return self._uploaded(request, entry)

    async def _uploaded(self, request: web.BaseRequest, entry: Entry) -> AsyncIterator[bytes]:
        async for piece in pieces_of(request, LARGEST_UPLOAD):
            self._rates.passed(entry, len(piece))
            yield piece

    async def _ask(
        self,
        request: web.BaseRequest,
        entry: Entry,
        bot: Bot,
        url: str,
        method: str,
        body: bytes | AsyncIterator[bytes] | None,
        answered: asyncio.Event | None = None,
    ) -> web.StreamResponse:
        headers = passed_headers(request.headers.items(), _HEADERS)
        if not isinstance(body, bytes | None) and request.content_length is not None:
            headers["content-length"] = str(request.content_length)
        secret = bot.token.partition(":")[2]
        async with ask(self._client, request.method, url, headers=headers, body=body, silent_for=SILENT_FOR) as answer:
            if answered is not None:
                answered.set()
            self._note(entry, method, answer.status)
            if answer.status >= 400:
                return await self._pass_error(entry, method, answer, secret)
            return await pass_on(
                request, answer, secrets=(secret,), meter=BlindMeter(), pay=partial(self._rates.pay, entry)
            )

    def _note(self, entry: Entry, method: str, status: int) -> None:
        if status in (200, 401, 404, 409, 429) or status >= 500:
            self._sightings.note_telegram(entry.project, status)
        if status == 200 and is_poll(method):
            self._sightings.note_poll(entry.project)
        if status == 200 and is_message(method):
            self._ledger.messages.count(entry.project)
        if status == 200 and (is_poll(method) or is_webhook_removal(method)):
            self._hooked.discard(entry.project)

    async def _pass_error(
        self, entry: Entry, method: str, answer: aiohttp.ClientResponse, secret: str
    ) -> web.StreamResponse:
        body, response = await pass_redacted(answer, secrets=(secret,))
        if answer.status == 409 and is_poll(method) and b"webhook" in body.lower():
            self._hooked.add(entry.project)
        return response
