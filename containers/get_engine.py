"""The engine of this process.

Imported by `projects.services`, `projects.watcher`, `config.health` and management commands only.
"""

from functools import cache

from django.conf import settings
from django.utils.module_loading import import_string

from containers.engine import Engine


@cache
def _load(path: str) -> Engine:
    engine: Engine = import_string(path)()
    return engine


def get_single_host(host: str) -> Engine:
    """The engine of one Docker host that is not the one of this process, such as `unix:///var/run/docker.sock`."""
    engine: Engine = import_string("containers.docker.engine.DockerEngine")(host)
    return engine


def get_engine() -> Engine:
    """The engine that `BERTH_ENGINE` chooses: one object for each process, which threads may share."""
    return _load(settings.BERTH_ENGINE_CLASS)
