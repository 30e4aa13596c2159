"""Calls tools as the model does, within the test's process."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def use(
    sources: Callable[[Any], list[Any]], *calls: tuple[str, dict[str, Any]], inside: str = "127.0.0.1"
) -> list[str]:
    """Returns the results that the model gets for these calls."""
    from assistant.model.completion import ToolCall
    from assistant.storage.memory import Place
    from assistant.tools.outbound import OutboundClient
    from assistant.tools.tool import Caller
    from assistant.tools.toolbox import Toolbox

    async def run() -> list[str]:
        from zoneinfo import ZoneInfo

        outbound = OutboundClient(frozenset({inside}), "")
        box = Toolbox(ZoneInfo("UTC"), [each.list_tools for each in sources(outbound)])
        tools = await box.list_tools()
        told = [await box.use(tools, ToolCall("1", n, json.dumps(a)), Caller(Place(1), None)) for n, a in calls]
        await outbound.close()
        return [each.removeprefix("<result>\n").removesuffix("\n</result>") for each in told]

    return asyncio.run(run())


def server_problems(told: list[Any] | None = None) -> Any:
    """Returns the server problems of an agent. They add the problems that they report to `told`."""
    from assistant.tools.server_problems import ServerProblems

    status: Any = SimpleNamespace(note_tools=(told if told is not None else []).append)
    return ServerProblems(status)
