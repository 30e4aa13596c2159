"""A call to a model provider: allowed, reserved, asked with the real key, passed on, counted."""

import asyncio
from functools import partial

import aiohttp
from aiohttp import web

from gateway.budgets.ledger import Ledger
from gateway.meters.document_meter import BlindMeter
from gateway.pipes.draining import drain
from gateway.pipes.forwarding import pass_on, pass_redacted
from gateway.pipes.guard import length_of, read_body
from gateway.pipes.memory import Lease, Memory
from gateway.pipes.piece_filter import ExceededError
from gateway.pipes.upstream import NotConnectedError, ask
from gateway.providers.asked import Asked
from gateway.providers.bill import Bill
from gateway.providers.choose import choose_meter
from gateway.providers.long_texts import LongTexts
from gateway.providers.longer import Longer, note_refusal
from gateway.providers.reading import read_call
from gateway.providers.slices import Turns, do, do_at_once
from gateway.providers.wish import Wish, headers_of
from gateway.providers.writing import ask_for_usage, keep_to_price, shorten, write
from gateway.rules.paths import Call
from gateway.rules.rates import Rates
from gateway.rules.refusals import RefusedError, Why
from gateway.truth import Truth

LARGEST = 28 * 1024 * 1024
"""Bytes: a file of 20 MB, the largest that Telegram gives a bot, has 26.7 MB in base64."""
LARGEST_SOUND = 26 * 1024 * 1024
"""Bytes: OpenAI takes sounds of 25 MB."""
LIGHT = 32 * 1024
"""Bytes of a request that is read at once: two milliseconds at the worst."""
LEAST_ANSWER = 16
"""Tokens. An answer that would have to be shorter is not asked for."""


class ProviderCalls:
    def __init__(self, client: aiohttp.ClientSession, ledger: Ledger, truth: Truth, rates: Rates) -> None:
        self._client = client
        self._ledger = ledger
        self._truth = truth
        self._rates = rates
        self._memory = Memory()
        self._turns = Turns()
        self._is_over = False

    async def bring_to_end(self, *, within: float) -> None:
        """Waits for the answers under way, and begins no other."""
        self._is_over = True
        until = asyncio.get_running_loop().time() + within
        while self._rates.is_any_open and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.02)

    async def answer(self, wish: Wish) -> web.StreamResponse:
        """Raises RefusedError before, and BrokenError after the answer has begun."""
        if self._is_over:
            raise RefusedError(Why.LATER, "The gateway is starting anew.", retry_after=1)
        with self._rates.count(wish.entry):
            if wish.call in (Call.LOOK, Call.COUNT):
                return await self._look(wish)
            most = LARGEST_SOUND if wish.call is Call.TRANSCRIPTION else LARGEST
            size = length_of(wish.request, most)
            async with self._memory.borrow(wish.entry.project, most if size is None else size) as lease:
                body = await self._read(wish, most)
                wish = wish.renewed()
                return await self._reserve(wish, await self._understand(wish, body), lease)

    async def _understand(self, wish: Wish, body: bytes) -> Asked:
        """A light request is read at once."""
        work = read_call(wish.call, wish.entry, wish.request.headers.get("Content-Type", ""), body)
        if len(body) <= LIGHT:
            with self._rates.reading(wish.entry):
                asked = do_at_once(work)
        else:
            async with self._turns.taken(wish.entry.project):
                asked = await do(work, partial(self._rates.reading, wish.entry))
        asked.came = b"" if wish.call is Call.TRANSCRIPTION else body
        return asked

    async def _reserve(self, wish: Wish, asked: Asked, lease: Lease) -> web.StreamResponse:
        least = asked.output  # of a sound, which nobody can ask to be shorter
        if asked.has_length:
            least = min(least, (LEAST_ANSWER + max(0, asked.thoughts)) * asked.choices)
        try:
            reservation = await self._ledger.reserve(
                wish.entry, asked.model, input_tokens=asked.input, min_output=least, max_output=asked.output,
                fallbacks=asked.others, is_cached=asked.is_cached, on_wait=asked.put_aside,
            )  # fmt: skip
        except RefusedError as error:
            note_refusal(self._truth, wish.entry, error)
            raise
        if wish.entry.budget.is_set:
            self._truth.note_room(wish.entry.project)
        bill = Bill(reservation)
        try:
            came, asked.came = asked.came, b""
            if asked.is_aside:
                wish = wish.renewed()
                asked = await self._understand(wish, came)
            came = asked.came = b""
            await self._write(wish, asked, reservation.output)
            return await self._ask(wish, asked, bill, lease)
        except NotConnectedError:
            bill.is_free()
            raise
        finally:
            self._settle(wish, asked, bill)

    def _settle(self, wish: Wish, asked: Asked, bill: Bill) -> None:
        self._ledger.settle(
            bill.reservation, bill.usage, entry=wish.entry, is_error=bill.is_error, fallbacks=asked.others,
            reported_model=bill.model,
        )  # fmt: skip

    async def _write(self, wish: Wish, asked: Asked, output: int) -> None:
        if wish.entry.budget.is_set:
            shorten(asked, output, wish.provider.kind)
        if wish.call is not Call.TRANSCRIPTION:  # a form passes as it came
            if wish.entry.budget.is_of_money:
                keep_to_price(asked, wish.entry.prices)
            ask_for_usage(asked, wish.provider.kind)
            # In no turn: the sooner it is written, the sooner what was read is no longer in memory.
            await do(write(asked), partial(self._rates.reading, wish.entry))
            asked.document, asked.texts = {}, LongTexts()  # a large one is not kept twice

    async def _ask(self, wish: Wish, asked: Asked, bill: Bill, lease: Lease) -> web.StreamResponse:
        bill.is_asked()
        async with ask(self._client, "POST", wish.url, headers=headers_of(wish), body=asked.body) as answer:
            asked.forget()
            lease.end()
            self._truth.note_provider(wish.entry.project, answer.status)
            if answer.status >= 300:
                bill.is_free()
                return (await pass_redacted(answer, secrets=(wish.provider.key,)))[1]
            meter = choose_meter(asked, answer.headers)
            longer = Longer(self._ledger, self._truth, wish.entry, wish.provider.kind, asked, bill)
            try:
                response = await pass_on(
                    wish.request,
                    answer,
                    secrets=(wish.provider.key,),
                    meter=meter,
                    pay=partial(self._rates.pay, wish.entry),
                    hides=asked.hides_usage,
                    end=partial(longer.end, meter),
                )
            except ExceededError:
                longer.is_broken(meter)
                raise
            except BaseException:
                wish.leave()
                longer.is_left(meter, await drain(answer, meter, partial(self._rates.pay, wish.entry)))
                raise
            longer.is_complete(meter)
            return response

    async def _look(self, wish: Wish) -> web.StreamResponse:
        """What costs nothing."""
        if wish.call is not Call.COUNT:
            return await self._pass_look(wish, None)
        size = length_of(wish.request, LARGEST)
        async with self._memory.borrow(wish.entry.project, LARGEST if size is None else size):
            body = await self._read(wish, LARGEST)
            return await self._pass_look(wish.renewed(), body)

    async def _read(self, wish: Wish, most: int) -> bytes:
        try:
            body = await read_body(wish.request, most)
        except RefusedError:
            self._rates.received(wish.entry, most)
            raise
        self._rates.received(wish.entry, len(body))
        return body

    async def _pass_look(self, wish: Wish, body: bytes | None) -> web.StreamResponse:
        request, secrets = wish.request, (wish.provider.key,)
        async with ask(self._client, request.method, wish.url, headers=headers_of(wish), body=body) as answer:
            self._truth.note_provider(wish.entry.project, answer.status)
            if answer.status >= 300 or wish.url.endswith("/key"):
                return (await pass_redacted(answer, secrets=secrets))[1]
            return await pass_on(
                request, answer, secrets=secrets, meter=BlindMeter(), pay=partial(self._rates.pay, wish.entry)
            )
