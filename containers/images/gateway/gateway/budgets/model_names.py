"""Limits the number of models whose usage is counted separately, because agents may name any model."""

from collections import defaultdict
from collections.abc import Iterable

from gateway.periods import Period, name_of

MAX_MODELS = 200
"""The most models per project and month."""
OTHER = "other"
"""The name under which all further models count together."""


class ModelNames:
    def __init__(self) -> None:
        self._month = ""
        self._known: defaultdict[str, set[str]] = defaultdict(set)

    def remember(self, found: Iterable[tuple[str, str]], hour: int) -> None:
        """Remembers projects and their models that already have rows."""
        self._month = name_of(Period.MONTH, hour)
        for project, model in found:
            if model != OTHER:
                self._known[project].add(model)

    def name(self, project: str, model: str, hour: int, *, is_real: bool) -> str:
        """Returns the name under which the model's usage counts.

        `is_real` means that the provider has answered, so the model exists. Other names use up none of the places.
        """
        month = name_of(Period.MONTH, hour)
        if month > self._month:
            self._month = month
            self._known.clear()
        known = self._known[project]
        if model not in known and is_real and len(known) < MAX_MODELS:
            known.add(model)
        return model if model in known else OTHER
