"""The description of the API, which is made once for each process: it tells of the program alone."""

import json
from functools import cache
from threading import Lock
from typing import Any

from drf_spectacular.generators import SchemaGenerator

_making = Lock()


def describe_service() -> dict[str, Any]:
    """OpenAPI 3.1, without the address of the service. Nobody may change what is in it.

    The generator loads its extensions while it first runs, which two threads must not do at once.
    """
    with _making:
        return _make()


@cache
def _make() -> dict[str, Any]:
    found = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # spectacular's
    # What it holds of Django's lazy texts becomes plain ones.
    made: dict[str, Any] = json.loads(json.dumps(found, default=str))
    return made
