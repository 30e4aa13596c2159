"""The names of servers and allowed hosts are looked up without making other projects wait."""

import asyncio

import pytest
from gateway.servers import resolver as resolving
from gateway.tunnels import lookups

from tests.gateway.process import PATIENCE

pytestmark = pytest.mark.one_database


def test_unanswered_name_lookups_end_in_time_and_delay_no_other_project(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[asyncio.Future[list[str]]] = []

    def look(host: str, _port: int) -> asyncio.Future[list[str]]:
        found: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        if host.endswith("silent.example"):
            asked.append(found)
        else:
            found.set_result(["192.0.2.1" if host == "near.example" else "1.1.1.1"])
        return found

    async def resolve(project: str, host: str, within: float = PATIENCE) -> object:
        lookups.PROJECT.set(project)
        monkeypatch.setattr(resolving, "WITHIN", within)
        try:
            return (await resolver.resolve(host))[0]["host"]
        except OSError as error:
            return type(error)

    resolver = resolving.PublicResolver(lookups.Lookups(look).resolve)

    async def try_it() -> None:
        silent = [asyncio.create_task(resolve("alice", f"{n}.silent.example", 0.05)) for n in range(8)]
        await asyncio.sleep(0)
        assert await asyncio.create_task(resolve("bob", "open.example")) == "1.1.1.1"
        assert set(await asyncio.gather(*silent)) == {TimeoutError}
        assert len(asked) == lookups.LOOKUPS_PER_PROJECT
        busy = await asyncio.create_task(resolve("alice", "open.example", 0.05))
        assert busy is TimeoutError, "its threads have not ended"
        for each in asked:
            each.set_exception(OSError("no such name"))
        await asyncio.sleep(0)
        assert await asyncio.create_task(resolve("alice", "open.example")) == "1.1.1.1"
        assert await asyncio.create_task(resolve("alice", "near.example")) is OSError

    asyncio.run(try_it())
