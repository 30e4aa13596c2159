"""The exceptions that a view of these tests raises."""

from typing import Any

from django.test import Client

from tests.config import probe_urls


def answer_to(client: Client, error: Exception, path: str = "/api/probe") -> Any:
    probe_urls.raised.append(error)
    return client.get(path)
