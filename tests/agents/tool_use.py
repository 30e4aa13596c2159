"""Tools as the model uses them, in this process."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def use(
    sources: Callable[[Any], list[Any]], *calls: tuple[str, dict[str, Any]], inside: str = "127.0.0.1"
) -> list[str]:
    """What the model is told of these calls."""
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
    """Those of an agent, which adds to `told` what it would say of its state."""
    from assistant.tools.server_problems import ServerProblems

    status: Any = SimpleNamespace(note_tools=(told if told is not None else []).append)
    return ServerProblems(status)
