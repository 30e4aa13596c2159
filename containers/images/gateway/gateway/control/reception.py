"""Receives what the control side asks, from before the gateway is at work until it ends."""

import asyncio
from typing import Any

from gateway.control.commands import Commands
from gateway.entries.leases import Leases

PROTOCOL = 1


class Reception:
    """`ping` is answered at once. All else waits until the gateway is at work: what holds state is not there before."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._commands: Commands | None = None
        self._is_over = False
        self._changed = asyncio.Event()

    def open(self, commands: Commands) -> None:
        self._commands = commands
        self._changed.set()

    def close(self) -> None:
        """What comes from now on is for the successor."""
        self._is_over = True
        self._changed.set()

    async def answer(self, message: object) -> dict[str, Any]:
        """Raises ConnectionError where the gateway ends: nobody can be told whether it has done what was asked."""
        if isinstance(message, dict) and message.get("do") == "ping":
            ready = self._commands is not None and not self._is_over
            return {"ok": True, "protocol": PROTOCOL, "ready": ready, **self._leases.as_document()}
        await self._changed.wait()
        if self._commands is None or self._is_over:
            raise ConnectionError
        return await self._commands.answer(message)
