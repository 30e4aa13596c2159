"""Decides for each request whether it is passed on, or why not."""

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from containers.socket_proxy import bodies
from containers.socket_proxy.checks import put_id, read_filters, require, texts, unless_missing
from containers.socket_proxy.constants import DATA_PATH, PROJECT_LABEL, SECRETS_PATH, Kind
from containers.socket_proxy.containers import ContainerShapes
from containers.socket_proxy.engine import AnsweredError, Engine
from containers.socket_proxy.past_events import is_of_all
from containers.socket_proxy.requests import RefusedError, Request
from containers.socket_proxy.routes import Route, Rule, find_route

ENGINES_OWN = "bridge"
"""The network that the engine creates at each start, from which Berth learns the time of the start."""

_MOST_RUNS = 4096
_BODIES = {
    Rule.CREATE, Rule.UPDATE, Rule.EXEC, Rule.RUN, Rule.MAKE_NETWORK, Rule.CONNECT, Rule.DISCONNECT
}  # fmt: skip
_THROWN_AWAY = {Kind.CARRIER, Kind.HANDOVER}
_STREAMED = ("PUT", Rule.ARCHIVE)


class Gate:
    def __init__(self, engine: Engine, profile: str) -> None:
        self._engine = engine
        self._scope = engine.scope
        self._containers = ContainerShapes(engine.scope, profile)
        self._network = bodies.network(engine.scope)
        self._runs: OrderedDict[str, None] = OrderedDict()
        self._rules: Mapping[Rule, Callable[[Request, str, Any], Awaitable[object]]] = {
            Rule.PASS: self._pass, Rule.LIST: self._list, Rule.EVENTS: self._events,
            Rule.CREATE: self._create, Rule.CONTAINER: self._one, Rule.LOGS: self._one,
            Rule.RENAME: self._rename, Rule.ARCHIVE: self._archive, Rule.UPDATE: self._update,
            Rule.EXEC: self._exec, Rule.RUN: self._run, Rule.NETWORK: self._on_network,
            Rule.SEE_NETWORK: self._see_network, Rule.MAKE_NETWORK: self._make_network, Rule.CONNECT: self._connect,
            Rule.DISCONNECT: self._disconnect, Rule.VOLUME: self._volume, Rule.SEE_VOLUME: self._see_volume,
            Rule.INSPECT: self._inspect,
        }  # fmt: skip

    @staticmethod
    def find(request: Request) -> tuple[Route, str]:
        """Returns the request's route and the name in its path. Raises `RefusedError` if it is not on the list."""
        found = find_route(request.method, request.path)
        if found is None:
            raise RefusedError("Berth asks no such thing of the engine.")
        route, name = found
        if unknown := request.params.keys() - route.params:
            raise RefusedError(f"Berth does not send the parameter {min(unknown)[:40]!r}.")
        if request.has_body and not (route.rule in _BODIES or (request.method, route.rule) == _STREAMED):
            raise RefusedError("Berth sends no body there.")
        if request.upgrades and route.rule is not Rule.RUN:
            raise RefusedError("Berth takes over no stream there.")
        if request.is_plain and route.rule is not Rule.LOGS:
            raise RefusedError("Berth speaks HTTP/1.1 there.", status=400)
        return route, name

    @staticmethod
    def reads_body(route: Route) -> bool:
        """Returns whether the whole body is read and checked before anything is passed on."""
        return route.rule in _BODIES

    async def admit(self, request: Request, route: Route, name: str, body: object) -> None:
        """Checks the request. Replaces a name in the path by the id, because the name may move to another container.

        Raises `RefusedError` and `AnsweredError`.
        """
        await self._rules[route.rule](request, name, body)

    def note_run(self, answer: bytes) -> None:
        """Notes that the engine has created an exec, which may be started once."""
        found = re.search(rb'"Id":"([0-9a-f]{64})"', answer)
        if found:
            self._runs[found[1].decode()] = None
            while len(self._runs) > _MOST_RUNS:
                self._runs.popitem(last=False)

    async def _pass(self, _request: Request, _name: str, _body: object) -> None:
        """Passes a request on that reveals nothing about other programs' objects, and changes nothing."""

    async def _events(self, request: Request, _name: str, _body: object) -> None:
        """Allows events with a label of this instance, which all other objects lack.

        Also allows all events up to a moment, because the proxy hides the objects of other programs' events.
        """
        if not is_of_all(request) and not self._is_chosen(texts(read_filters(request).get("label"))):
            raise RefusedError("Berth reads only events of objects with its labels.")

    async def _list(self, request: Request, _name: str, _body: object) -> None:
        """Allows lists filtered by this instance's labels or by its full names.

        Lists of all agents are allowed too, because Berth has to know the user numbers of other installations' agents.
        """
        filters = read_filters(request)
        labels, names = texts(filters.get("label")), texts(filters.get("name"))
        of_name = bool(names) and all(re.fullmatch(rf"\^/?{self._scope.name}\$", each, re.ASCII) for each in names)
        if not (self._is_chosen(labels) or PROJECT_LABEL in labels or of_name):
            raise RefusedError("Berth lists only objects with its labels or its names.")

    def _is_chosen(self, labels: list[str]) -> bool:
        """Returns whether any of the labels is this instance's, which suffices: an engine requires all of them."""
        return any(re.fullmatch(self._scope.chosen, each, re.ASCII) for each in labels)

    async def _create(self, request: Request, _name: str, body: Any) -> None:
        require(self._containers.check, body)
        self._require_name(request)
        host = body["HostConfig"]
        for volume in (mount["Source"] for mount in host.get("Mounts", ()) if "Source" in mount):
            await unless_missing(self._engine.require_volume(volume))  # a missing one will be created
        way, _, joined = host["NetworkMode"].partition(":")
        if joined:
            other = await self._engine.container(joined)
            if other.kind is not Kind.TRIAL or not other.is_alone:
                raise RefusedError("The container is none whose network another one may have.")
        elif way not in {"none", "host", ENGINES_OWN}:
            await unless_missing(self._engine.network(way))  # the engine creates it nevertheless, but cannot start it

    async def _one(self, request: Request, name: str, _body: object) -> Kind:
        container = await self._engine.container(name)
        put_id(request, container.id)
        return container.kind

    async def _inspect(self, request: Request, name: str, body: object) -> None:
        """Also allows a foreign container that has a name of Berth's, because Berth has to know what it is."""
        try:
            await self._one(request, name, body)
        except RefusedError:
            if not re.fullmatch(self._scope.hidden_name, name, re.ASCII):
                raise

    async def _rename(self, request: Request, name: str, body: object) -> None:
        self._require_name(request, needs=True)
        await self._one(request, name, body)

    async def _archive(self, request: Request, name: str, body: object) -> None:
        kind, path = await self._one(request, name, body), request.params.get("path")
        is_thrown_away = kind in _THROWN_AWAY and (path == "/" or request.method == "GET")
        if path not in {DATA_PATH, SECRETS_PATH} and not is_thrown_away:
            raise RefusedError("Berth puts nothing there, and reads nothing.")

    async def _update(self, request: Request, name: str, body: object) -> None:
        require(bodies.UPDATE_OF_ANY, body)
        is_gateway = await self._one(request, name, body) is Kind.GATEWAY
        require(bodies.UPDATE_OF_GATEWAY if is_gateway else bodies.UPDATE, body)

    async def _exec(self, request: Request, name: str, body: Any) -> None:
        require(bodies.EXEC, body)
        if await self._one(request, name, body) is not Kind.GATEWAY:
            raise RefusedError("Berth runs programs in its gateway alone.")

    async def _run(self, _request: Request, name: str, body: object) -> None:
        require(bodies.START, body)
        if name not in self._runs:
            raise RefusedError("The program is none that was asked for here.", status=404)
        del self._runs[name]

    async def _see_network(self, request: Request, name: str, body: object) -> None:
        """Also allows a foreign network that has a name of Berth's, because Berth checks the owner by the labels."""
        if name != ENGINES_OWN and not re.fullmatch(self._scope.network_name, name, re.ASCII):
            await self._on_network(request, name, body)

    async def _on_network(self, request: Request, name: str, _body: object) -> None:
        put_id(request, await self._engine.network(name))

    async def _make_network(self, _request: Request, _name: str, body: object) -> None:
        require(self._network, body)

    async def _connect(self, request: Request, name: str, body: Any) -> None:
        require(bodies.CONNECT, body)
        body["Container"] = (await self._engine.container(body["Container"])).id
        await self._on_network(request, name, body)

    async def _disconnect(self, request: Request, name: str, body: Any) -> None:
        """Allows to disconnect a container from any network, because someone else may have connected it.

        A name of Berth's without a container may only be disconnected from Berth's networks: it is a stale endpoint.
        """
        require(bodies.DISCONNECT, body)
        try:
            body["Container"] = (await self._engine.container(body["Container"])).id
        except AnsweredError as error:
            if error.status != 404 or not re.fullmatch(self._scope.name, body["Container"], re.ASCII):
                raise
            await self._on_network(request, name, body)

    async def _volume(self, _request: Request, name: str, _body: object) -> None:
        await self._engine.require_volume(name)

    async def _see_volume(self, _request: Request, name: str, _body: object) -> None:
        if not re.fullmatch(self._scope.name, name, re.ASCII):
            await self._engine.require_volume(name)

    def _require_name(self, request: Request, *, needs: bool = False) -> None:
        name = request.params.get("name")
        if (name is None and needs) or (name is not None and not re.fullmatch(self._scope.name, name, re.ASCII)):
            raise RefusedError("Berth gives no such name.")
