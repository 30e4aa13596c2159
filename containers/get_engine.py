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
    """Returns an engine for another Docker host than this process's own, such as `unix:///var/run/docker.sock`."""
    engine: Engine = import_string("containers.docker.engine.DockerEngine")(host)
    return engine


def get_engine() -> Engine:
    """Returns the engine that `BERTH_ENGINE` selects. Each process has one, which its threads may share."""
    return _load(settings.BERTH_ENGINE_CLASS)
