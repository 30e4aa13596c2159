"""Resolves the names of servers to addresses of the public internet only, because owners choose the names."""

import asyncio
import socket

from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.rules.refusals import RefusedError
from gateway.tunnels.connect import Resolve, find_public
from gateway.tunnels.target import Target

WITHIN = 10.0
"""Seconds for a lookup, including the wait for other lookups of the project."""


class PublicResolver(AbstractResolver):
    """Resolver for aiohttp, which connects to exactly the addresses that it returns.

    aiohttp would not ask it about an IP address instead of a name, but entries contain none.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - part of the library's interface
    ) -> list[ResolveResult]:
        """Raises OSError, of which TimeoutError is a subclass."""
        try:
            async with asyncio.timeout(WITHIN):
                found = await find_public(Target(host, port), self._resolve)
        except RefusedError as error:
            raise OSError(error.words) from None
        except UnicodeError:
            raise OSError("The name cannot be looked up.") from None
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=socket.AI_NUMERICHOST
            )
            for address in found
        ]

    async def close(self) -> None:
        """Does nothing: there is nothing to close."""
