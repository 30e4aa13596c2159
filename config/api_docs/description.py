"""The OpenAPI description, which is generated once per process because it depends only on the program."""

import json
from functools import cache
from threading import Lock
from typing import Any

from drf_spectacular.generators import SchemaGenerator

_making = Lock()


def describe_service() -> dict[str, Any]:
    """Returns the OpenAPI 3.1 document without the address of the service. The caller must not change it.

    The generator loads its extensions when it first runs, which two threads must not do at once.
    """
    with _making:
        return _make()


@cache
def _make() -> dict[str, Any]:
    found = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # spectacular's
    # Turns Django's lazy texts into strings.
    made: dict[str, Any] = json.loads(json.dumps(found, default=str))
    return made
