"""Which address a credential counts from where nobody can say it beforehand: the one that uses it.

On a cluster's node the engine gives a container its address and tells nobody. So the first one that shows a credential
has it, for as long as something of it is in flight and a while after that. Another one is asked to come again: it is
the same agent in its next container, which is let in when the former one has fallen silent, or somebody else, who is
not.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

REST = 10.0
"""Seconds without a request after which another address may have the credential. An agent polls without a pause."""


@dataclass(slots=True)
class _Bound:
    address: str
    inside: int = 0
    """Requests in flight."""
    left_at: float = 0.0


class Bindings:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._bound: dict[str, _Bound] = {}

    def admits(self, project: str, address: str) -> bool:
        """Whether it counts from there. From now on it does from there alone."""
        bound = self._bound.get(project)
        if bound is None or (bound.address != address and self._is_silent(bound)):
            bound = self._bound[project] = _Bound(address)
        if bound.address == address:
            bound.left_at = self._now()
        return bound.address == address

    def address_of(self, project: str) -> str | None:
        """The address from which its credential counts now."""
        bound = self._bound.get(project)
        return bound.address if bound else None

    def _is_silent(self, bound: _Bound) -> bool:
        return not bound.inside and self._now() - bound.left_at >= REST

    @contextmanager
    def inside(self, project: str) -> Iterator[None]:
        bound = self._bound.get(project)
        if bound is None:
            yield
            return
        bound.inside += 1
        try:
            yield
        finally:
            bound.inside -= 1
            bound.left_at = self._now()

    def forget(self, project: str) -> None:
        """Its container is another one now, or none."""
        self._bound.pop(project, None)
