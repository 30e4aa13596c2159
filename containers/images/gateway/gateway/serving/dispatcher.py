"""Handles each request of an agent: identifies the agent, reads what it asks for, and has the upstream called."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from aiohttp import web

from gateway.entries.entry import Bot, Entry, Kind, Provider, digest
from gateway.pipes.agent_connection import address_of
from gateway.pipes.forwarding import LAST_WITHIN
from gateway.pipes.piece_filter import BEGUN, BrokenError, ExceededError
from gateway.providers.call import ProviderCalls
from gateway.providers.provider_request import read_provider_request
from gateway.rules.callers import Callers, admit
from gateway.rules.credentials import read_credential
from gateway.rules.paths import ServerPath, TelegramPath, is_for_anthropic, read_server, read_telegram
from gateway.rules.refusals import (
    Refusal,
    RefusedError,
    Why,
    shape_for_provider,
    shape_for_telegram,
    shape_for_tunnel,
)
from gateway.rules.throttle import Throttle
from gateway.servers.call import ServerCalls
from gateway.serving.connection_ends import Lingering, cut
from gateway.serving.heads import check_head, check_size
from gateway.serving.in_flight import InFlight
from gateway.telegram.call import TelegramCalls
from gateway.telegram.telegram_request import TelegramRequest
from gateway.tunnels.connect_request import identify_agent, read_connect_target
from gateway.tunnels.tunnel import Tunnels

INCORRECT = "Incorrect API key provided."

logger = logging.getLogger(__name__)


class Dispatcher:
    def __init__(
        self,
        callers: Callers,
        telegram: TelegramCalls,
        providers: ProviderCalls,
        servers: ServerCalls,
        tunnels: Tunnels,
        throttle: Throttle,
        in_flight: InFlight,
    ) -> None:
        self._callers = callers
        self._telegram = telegram
        self._providers = providers
        self._servers = servers
        self._tunnels = tunnels
        self._throttle = throttle
        self._in_flight = in_flight
        self._lingering = Lingering()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            if wait := self._throttle.wait_for(address_of(request.transport)):
                await asyncio.sleep(wait)
            response = await self._choose(request)(request)
            await self._lingering.finish(request, response)
        except ExceededError:
            return cut(request, within=LAST_WITHIN)
        except (BrokenError, ConnectionError):
            return cut(request)  # a ConnectionError means that the agent has hung up
        except Exception as error:  # noqa: BLE001 - no other handler follows
            _log(error)
            return cut(request)
        return response

    def _choose(self, request: web.BaseRequest) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
        if request.method == "CONNECT":
            return self._ask_tunnel
        if request.raw_path.startswith("/out/"):
            return self._ask_server
        return self._ask_telegram if request.raw_path.startswith("/tg/") else self._ask_provider

    async def _ask_telegram(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            with _answered(request):
                check_head(request)
                find = partial(self._find_bot, request)
                entry, bot, path = find()
                with self._in_flight.counted(entry, request):
                    return await self._telegram.call(TelegramRequest(request, entry, bot, path, find))
        except RefusedError as error:
            return _answer(shape_for_telegram(error))

    async def _ask_provider(self, request: web.BaseRequest) -> web.StreamResponse:
        kind = Kind.ANTHROPIC if is_for_anthropic(request.raw_path) else Kind.OPENAI
        try:
            with _answered(request):
                check_head(request)
                entry, provider = self._find_provider(request)
                kind = kind if kind is Kind.ANTHROPIC else provider.kind
                provider_request = read_provider_request(request, entry, provider)
                with self._in_flight.counted(entry, request) as leave:
                    find = partial(self._find_provider, request)
                    return await self._providers.answer(replace(provider_request, leave=leave, find=find))
        except RefusedError as error:
            return _answer(shape_for_provider(error, kind))

    async def _ask_server(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            with _answered(request):
                check_head(request)
                entry, path = self._find_servers(request)
                with self._in_flight.counted(entry, request):
                    return await self._servers.call(request, entry, path)
        except RefusedError as error:
            return _answer(shape_for_provider(error, Kind.OPENAI))

    async def _ask_tunnel(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            with _answered(request):
                check_size(request)
                target = read_connect_target(request.raw_path)
                given = request.headers.getall("Proxy-Authorization", ())
                entry = identify_agent(self._callers, given=given, address=address_of(request.transport))
                with self._in_flight.counted(entry, request):
                    return await self._tunnels.call(request, entry, target)
        except RefusedError as error:
            return _answer(shape_for_tunnel(error))

    def _find_bot(self, request: web.BaseRequest) -> tuple[Entry, Bot, TelegramPath]:
        path = read_telegram(request.raw_path)
        if path is None:
            raise RefusedError(Why.NOT_FOUND, "Not Found")
        entry = self._identify(request, path.credential, "Unauthorized")
        if entry.bot is None or entry.bot.virtual != digest(path.credential):
            raise RefusedError(Why.CREDENTIAL, "Unauthorized")
        return entry, entry.bot, path

    def _find_provider(self, request: web.BaseRequest) -> tuple[Entry, Provider]:
        found = read_credential(request.headers.items())
        if found is None:
            raise RefusedError(Why.CREDENTIAL, "Exactly one API key must be given.")
        entry = self._identify(request, found[0], INCORRECT)
        if entry.provider is None or entry.provider.virtual != digest(found[0]):
            raise RefusedError(Why.CREDENTIAL, INCORRECT)
        return entry, entry.provider

    def _find_servers(self, request: web.BaseRequest) -> tuple[Entry, ServerPath]:
        path = read_server(request.raw_path)
        if path is None:
            raise RefusedError(Why.NOT_FOUND, "The gateway does not pass this path on.")
        entry = self._identify(request, path.credential, INCORRECT)
        if entry.servers is None or entry.servers.virtual != digest(path.credential):
            raise RefusedError(Why.CREDENTIAL, INCORRECT)
        return entry, path

    def _identify(self, request: web.BaseRequest, credential: str, words: str) -> Entry:
        found = self._callers.identify(credential=credential, address=address_of(request.transport))
        return admit(found, otherwise=RefusedError(Why.CREDENTIAL, words))


@contextmanager
def _answered(request: web.BaseRequest) -> Iterator[None]:
    """Turns a fault of the gateway into a refusal, if no part of the answer has been sent.

    Raises RefusedError, BrokenError or ConnectionError.
    """
    try:
        yield
    except (RefusedError, BrokenError, ConnectionError):
        raise
    except Exception as error:  # noqa: BLE001 - the agent waits for an answer in any case
        _log(error)
        if request.get(BEGUN):
            raise BrokenError from None
        raise RefusedError(Why.FAULT, "The gateway has failed.") from None


def _log(error: Exception) -> None:
    """Logs only the error's type and place, because its message could contain a credential."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    logger.error("A request failed: %s at %s:%s", type(error).__name__, place.filename, place.lineno)


def _answer(refusal: Refusal) -> web.Response:
    response = web.Response(status=refusal.status, body=refusal.body, headers=refusal.headers)
    if "Connection" in refusal.headers:
        response.force_close()
    return response
