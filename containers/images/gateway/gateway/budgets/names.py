"""Under which name the usage of a model counts. Agents may name any model; only so many are told apart."""

from collections import defaultdict
from collections.abc import Iterable

from gateway.periods import Period, name_of

MOST = 200
"""Models of a project in a month."""
OTHER = "other"


class Names:
    def __init__(self) -> None:
        self._month = ""
        self._known: defaultdict[str, set[str]] = defaultdict(set)

    def remember(self, found: Iterable[tuple[str, str]], hour: int) -> None:
        """Projects and models that have rows already."""
        self._month = name_of(Period.MONTH, hour)
        for project, model in found:
            if model != OTHER:
                self._known[project].add(model)

    def name(self, project: str, model: str, hour: int, *, is_real: bool) -> str:
        """`is_real`: the provider has answered, so that there is such a model. Only then it takes one of the places."""
        month = name_of(Period.MONTH, hour)
        if month > self._month:
            self._month = month
            self._known.clear()
        known = self._known[project]
        if model not in known and is_real and len(known) < MOST:
            known.add(model)
        return model if model in known else OTHER
