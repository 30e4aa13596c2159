"""Finds the addresses of servers, of which only those of the internet are asked: owners name the servers."""

import socket

from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.rules.refusals import RefusedError
from gateway.tunnels.connect import Resolve, find_public, resolve
from gateway.tunnels.target import Target


class PublicResolver(AbstractResolver):
    """What it finds is what is connected to. An address in the place of a name never comes here: no entry has one."""

    def __init__(self, resolve: Resolve = resolve) -> None:
        self._resolve = resolve

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - the library's
    ) -> list[ResolveResult]:
        """Raises OSError."""
        try:
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
        """There is nothing to close."""
