"""Reads what /metrics reports."""

from typing import Any

from django.test import Client
from prometheus_client.parser import text_string_to_metric_families


class Scrape:
    """The samples of one answer. Raises an error if the format is not Prometheus's."""

    def __init__(self, text: str) -> None:
        self.samples = [each for family in text_string_to_metric_families(text) for each in family.samples]

    def value(self, name: str, **labels: str) -> float | None:
        found = [each.value for each in self.samples if each.name == name and labels.items() <= each.labels.items()]
        return sum(found) if found else None

    def by(self, name: str, *labels: str) -> dict[Any, float]:
        """Returns the values that are not 0, added up by one or more labels."""
        found: dict[Any, float] = {}
        for each in self.samples:
            if each.name == name and each.value:
                key = tuple(each.labels[label] for label in labels)
                name_of = key if len(labels) > 1 else key[0]
                found[name_of] = found.get(name_of, 0) + each.value
        return found


def scrape() -> Scrape:
    answer = Client().get("/metrics")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    return Scrape(answer.content.decode())
