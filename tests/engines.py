"""The Docker engine of the tests: the one that `DOCKER_HOST` names. docker-py's own client does not look at that."""

import docker
from docker.utils import kwargs_from_env


def connect(address: str | None = None, *, timeout: int = 120) -> docker.APIClient:
    """`address` is that of another engine than the usual."""
    options = {"base_url": address} if address else kwargs_from_env()
    return docker.APIClient(version="auto", timeout=timeout, **options)
