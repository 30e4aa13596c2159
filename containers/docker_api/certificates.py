"""The engine's address and certificates, as the environment gives them."""

from typing import Any

import docker.errors
import docker.utils

from containers.errors import EngineRefusedError

NO_CERTIFICATE = (
    "The container engine needs certificates, because DOCKER_TLS_VERIFY or DOCKER_CERT_PATH is set, but not all are "
    "there. Put ca.pem, cert.pem and key.pem into the folder of DOCKER_CERT_PATH, or unset both variables."
)


def read_environment() -> dict[str, Any]:
    """Returns docker-py's arguments `base_url` and `tls`, where they are set. Raises `EngineRefusedError`."""
    try:
        return dict(docker.utils.kwargs_from_env())
    except docker.errors.TLSParameterError:
        raise EngineRefusedError(NO_CERTIFICATE) from None
