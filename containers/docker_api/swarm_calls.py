"""Calls that docker-py does not send as an engine understands them: services, secrets, pushes, limits, in its words."""

import base64
from typing import Any

import requests
from django.views.decorators.debug import sensitive_variables

from containers.docker_api.short_requests import ShortRequests


class SwarmCalls(ShortRequests):
    """Calls about services, which docker-py's own methods list and remove, and about limits."""

    @sensitive_variables("credentials", "headers")
    def create_service_from(self, payload: dict[str, Any], *, credentials: str = "") -> str:
        """The id of the new service. Its image is taken as it is named: no registry is asked (`--no-resolve-image`).

        With `credentials`, as `read_credentials` tells them, nodes ask the registry. No answer ever holds them.
        """
        headers = {"X-Registry-Auth": credentials} if credentials else {}
        made = self._post_json(self._url("/services/create"), data=payload, headers=headers)
        return str(self._result(made, json=True)["ID"])

    def update_service_to(self, service: str, version: int, payload: dict[str, Any]) -> None:
        """Raises where the service has another version by now: somebody else was faster."""
        url = self._url("/services/{0}/update", service)
        self._result(self._post_json(url, data=payload, params={"version": version}), json=True)

    def create_secret_from(self, name: str, content: str, labels: dict[str, str]) -> str:
        """The id of the new secret."""
        payload = {"Name": name, "Labels": labels, "Data": base64.b64encode(content.encode()).decode()}
        return str(self._result(self._post_json(self._url("/secrets/create"), data=payload), json=True)["ID"])

    @sensitive_variables("credentials", "headers")
    def open_push(self, repository: str, tag: str, *, credentials: str, silence: float) -> requests.Response:
        """The answer of a push: it ends when the registry has the image, or the engine gave up. Never of a request."""
        headers = {"X-Registry-Auth": credentials or "e30="}  # {}: the engine wants some
        url = self._url("/images/{0}/push", repository)
        response: requests.Response = self._post(
            url, params={"tag": tag}, headers=headers, stream=True, timeout=(silence, silence)
        )
        self._raise_for_status(response)
        return response

    def update_limits(self, container: str, limits: dict[str, int]) -> None:
        """Of one container. docker-py's own method knows neither processes nor parts of a core."""
        self._result(self._post_json(self._url("/containers/{0}/update", container), data=limits))

    def read_api(self) -> tuple[int, int]:
        """Of the engine, such as (1, 41). Raises `ValueError` where it says none."""
        major, minor = str(self._version).split(".")[:2]
        return int(major), int(minor)
