"""Handles a call to a model provider: checks it, reserves its cost, sends it with the real key, passes on the answer
and counts the usage."""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial

import aiohttp
from aiohttp import ClientResponse, web

from gateway.budgets.ledger import Ledger
from gateway.meters.document_meter import BlindMeter
from gateway.meters.meter import Meter
from gateway.pipes.draining import drain
from gateway.pipes.forwarding import pass_on, pass_redacted
from gateway.pipes.guard import length_of, read_body
from gateway.pipes.memory import Lease, Memory
from gateway.pipes.piece_filter import ExceededError
from gateway.pipes.upstream import NotConnectedError, ask
from gateway.providers.answer_watch import AnswerWatch
from gateway.providers.call_cost import CallCost
from gateway.providers.extracted_texts import ExtractedTexts
from gateway.providers.length_watch import LengthWatch, note_refusal
from gateway.providers.meter_choice import choose_meter
from gateway.providers.options import removal_header
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.provider_request import ProviderRequest, headers_of
from gateway.providers.reading import read_call
from gateway.providers.rewriting import rewrite, write_body
from gateway.providers.time_slices import Turns, run_at_once, run_in_slices
from gateway.rules.paths import Call
from gateway.rules.rates import Rates
from gateway.rules.refusals import RefusedError, Why
from gateway.sightings import Sightings

MAX_REQUEST = 28 * 1024 * 1024
"""Bytes. The largest file that Telegram gives a bot, 20 MB, has 26.7 MB in base64."""
MAX_AUDIO = 26 * 1024 * 1024
"""Bytes. OpenAI accepts audio files of 25 MB."""
LIGHT = 32 * 1024
"""Bytes. A smaller request is parsed in one go, which takes two milliseconds at worst."""
MIN_ANSWER = 16
"""Tokens. If the budget has room only for a shorter answer, the call is not sent."""


class ProviderCalls:
    def __init__(self, client: aiohttp.ClientSession, ledger: Ledger, sightings: Sightings, rates: Rates) -> None:
        self._client = client
        self._ledger = ledger
        self._sightings = sightings
        self._rates = rates
        self._memory = Memory()
        self._turns = Turns()
        self._is_over = False

    async def bring_to_end(self, *, within: float) -> None:
        """Waits up to `within` seconds for the answers in flight, and refuses new calls."""
        self._is_over = True
        until = asyncio.get_running_loop().time() + within
        while self._rates.is_any_open and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.02)

    async def answer(self, request: ProviderRequest) -> web.StreamResponse:
        """Raises RefusedError before, and BrokenError after the answer has begun."""
        if self._is_over:
            raise RefusedError(Why.LATER, "The gateway is restarting.", retry_after=1)
        with self._rates.count(request.entry):
            if request.call is Call.LOOK:
                return await self._pass_free_call(request, None)
            most = MAX_AUDIO if request.call is Call.TRANSCRIPTION else MAX_REQUEST
            size = length_of(request.http, most)
            async with self._memory.borrow(request.entry.project, most if size is None else size) as lease:
                request, parsed = await self._receive(request, most)
                if request.call is Call.COUNT:
                    await self._write(request, parsed, parsed.output)
                    return await self._pass_free_call(request, parsed)
                return await self._reserve(request, parsed, lease)

    async def _receive(self, request: ProviderRequest, most: int) -> tuple[ProviderRequest, ParsedCall]:
        """Reads and parses it. Only the result keeps the body, because the caller waits for the answer."""
        try:
            body = await read_body(request.http, most)
        except RefusedError:
            self._rates.received(request.entry, most)
            raise
        self._rates.received(request.entry, len(body))
        request = request.renewed()
        return request, await self._parse(request, body)

    async def _parse(self, request: ProviderRequest, body: bytes) -> ParsedCall:
        """Parses a light request at once, and others in slices, one at a time."""
        work = read_call(request.call, request.entry, request.http.headers.get("Content-Type", ""), body)
        if len(body) <= LIGHT:
            with self._rates.reading(request.entry):
                parsed = run_at_once(work)
        else:
            async with self._turns.taken(request.entry.project):
                parsed = await run_in_slices(work, partial(self._rates.reading, request.entry))
        parsed.received = body
        return parsed

    async def _reserve(self, request: ProviderRequest, parsed: ParsedCall, lease: Lease) -> web.StreamResponse:
        least = parsed.output  # the length of audio cannot be limited
        if parsed.has_length:
            least = min(least, (MIN_ANSWER + max(0, parsed.reasoning_tokens)) * parsed.choices)
        try:
            reservation = await self._ledger.reserve(
                request.entry, parsed.model, input_tokens=parsed.input, min_output=least, max_output=parsed.output,
                fallbacks=parsed.fallbacks, is_cached=parsed.is_cached, on_wait=parsed.release_document,
            )  # fmt: skip
        except RefusedError as error:
            note_refusal(self._sightings, request.entry, error)
            raise
        if request.entry.budget.is_set:
            self._sightings.note_room(request.entry.project)
        cost = CallCost(reservation)
        try:
            received, parsed.received = parsed.received, b""
            if parsed.is_released or request.renewed() is not request:
                request = request.renewed()
                parsed = await self._parse(request, received)
            received = parsed.received = b""
            await self._write(request, parsed, reservation.output)
            return await self._ask(request, parsed, cost, lease)
        except NotConnectedError:
            cost.mark_free()
            raise
        finally:
            self._settle(request, parsed, cost)

    def _settle(self, request: ProviderRequest, parsed: ParsedCall, cost: CallCost) -> None:
        self._ledger.settle(
            cost.reservation, cost.usage, entry=request.entry, is_error=cost.is_error, fallbacks=parsed.fallbacks,
            reported_model=cost.model,
        )  # fmt: skip

    async def _write(self, request: ProviderRequest, parsed: ParsedCall, output: int) -> None:
        if request.call is not Call.TRANSCRIPTION:  # a form is passed on unchanged
            rewrite(parsed, request.entry, request.provider.kind, output)
            # Does not wait for its turn, because the document stays in memory until the body is written.
            await run_in_slices(write_body(parsed), partial(self._rates.reading, request.entry))
            parsed.document, parsed.texts = {}, ExtractedTexts()  # do not keep a large request twice

    async def _ask(
        self, request: ProviderRequest, parsed: ParsedCall, cost: CallCost, lease: Lease
    ) -> web.StreamResponse:
        cost.mark_sent()
        headers = removal_header(parsed.removed)
        async with self._send(request, parsed.body) as answer:
            parsed.clear()
            lease.end()
            if answer.status >= 300:
                cost.mark_free()
                return await self._pass_redacted(request, answer, headers)
            meter, pay = choose_meter(parsed, answer.headers), partial(self._rates.pay, request.entry)
            watch = AnswerWatch(self._watch(request, parsed, cost, meter), request, answer.status, self._sightings)
            try:
                response = await pass_on(
                    request.http, answer, secrets=(request.provider.key,), meter=meter, pay=pay, headers=headers,
                    hide_usage=parsed.hide_usage, length_limit=watch,
                )  # fmt: skip
            except ExceededError:
                watch.mark_broken()
                raise
            except BaseException as error:
                request.leave()
                watch.mark_abandoned(await drain(answer, meter, pay))
                cost.is_error |= isinstance(error, RefusedError)  # an answer that agents never get
                raise
            watch.mark_complete()
            return response

    def _send(self, request: ProviderRequest, body: bytes | None) -> AbstractAsyncContextManager[ClientResponse]:
        charge, method = partial(self._rates.spent, request.entry), request.http.method
        return ask(self._client, method, request.url, headers=headers_of(request), body=body, charge=charge)

    def _watch(self, request: ProviderRequest, parsed: ParsedCall, cost: CallCost, meter: Meter) -> LengthWatch:
        return LengthWatch(meter, self._ledger, self._sightings, request.entry, request.provider.kind, parsed, cost)

    async def _pass_free_call(self, request: ProviderRequest, parsed: ParsedCall | None) -> web.StreamResponse:
        """Passes on a call that costs nothing. `None` stands for a call without a body."""
        headers = removal_header(parsed.removed if parsed else ())
        async with self._send(request, parsed.body if parsed else None) as answer:
            if answer.status >= 300 or request.describes_key:
                return await self._pass_redacted(request, answer, headers)
            self._sightings.note(request.entry, request.read_proof(answer.status))
            pay = partial(self._rates.pay, request.entry)
            return await pass_on(
                request.http, answer, secrets=(request.provider.key,), meter=BlindMeter(), pay=pay, headers=headers
            )

    async def _pass_redacted(
        self, request: ProviderRequest, answer: ClientResponse, headers: Mapping[str, str]
    ) -> web.Response:
        """Passes on an error, or facts about the key."""
        body, response = await pass_redacted(answer, secrets=(request.provider.key,), headers=headers)
        self._sightings.note(request.entry, request.read_proof(answer.status, body))
        return response
