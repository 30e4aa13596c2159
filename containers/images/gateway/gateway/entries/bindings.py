"""Binds a credential to the address that uses it, if the address cannot be known beforehand.

On a cluster's node the engine assigns an address to a container and reports it to nobody. So the first address that
shows a credential gets it while requests are in flight, and for some time after that. Any other address is asked to
retry: it is either the same agent in its next container, which is admitted once the former one is silent, or someone
else, who is never admitted.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

REST = 10.0
"""Seconds without a request after which another address may use the credential. An agent polls without pauses."""


@dataclass(slots=True)
class _Bound:
    address: str
    in_flight: int = 0
    """Requests in flight."""
    left_at: float = 0.0


class Bindings:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._bound: dict[str, _Bound] = {}

    def admits(self, project: str, address: str) -> bool:
        """Whether the credential is valid from this address. If so, it is then valid from this address alone."""
        bound = self._bound.get(project)
        if bound is None or (bound.address != address and self._is_silent(bound)):
            bound = self._bound[project] = _Bound(address)
        if bound.address == address:
            bound.left_at = self._now()
        return bound.address == address

    def address_of(self, project: str) -> str | None:
        """Returns the address from which its credential is valid now."""
        bound = self._bound.get(project)
        return bound.address if bound else None

    def _is_silent(self, bound: _Bound) -> bool:
        return not bound.in_flight and self._now() - bound.left_at >= REST

    @contextmanager
    def in_use(self, project: str) -> Iterator[None]:
        bound = self._bound.get(project)
        if bound is None:
            yield
            return
        bound.in_flight += 1
        try:
            yield
        finally:
            bound.in_flight -= 1
            bound.left_at = self._now()

    def forget(self, project: str) -> None:
        """Releases the address, because the project has another container now, or none."""
        self._bound.pop(project, None)
