"""Calls that docker-py lacks or sends in an unsuitable form: services, secrets, pushes and limits."""

import base64
from typing import Any

import requests
from django.views.decorators.debug import sensitive_variables

from containers.docker_api.short_requests import ShortRequests
from containers.identity import NO_LABELS


class SwarmCalls(ShortRequests):
    """Creates and updates services, secrets and limits, and pushes images."""

    @sensitive_variables("credentials", "headers")
    def create_service_from(self, payload: dict[str, Any], *, credentials: str = "") -> str:
        """Returns the id of the new service. The image name is used as it is, without the registry
        (`--no-resolve-image`).

        With `credentials` from `read_credentials`, nodes can pull from the registry. No answer ever contains them.
        Its containers get no labels of Berth's but those of the payload, no matter what their image says.
        """
        task = payload["TaskTemplate"]
        labels = {**NO_LABELS, **(task["ContainerSpec"].get("Labels") or {})}
        payload = {**payload, "TaskTemplate": {**task, "ContainerSpec": {**task["ContainerSpec"], "Labels": labels}}}
        headers = {"X-Registry-Auth": credentials} if credentials else {}
        made = self._post_json(self._url("/services/create"), data=payload, headers=headers)
        return str(self._result(made, json=True)["ID"])

    def update_service_to(self, service: str, version: int, payload: dict[str, Any]) -> None:
        """Updates the service. Raises if its version has changed meanwhile, because someone else was faster."""
        url = self._url("/services/{0}/update", service)
        self._result(self._post_json(url, data=payload, params={"version": version}), json=True)

    def create_secret_from(self, name: str, content: str, labels: dict[str, str]) -> str:
        """Creates a secret and returns its id."""
        payload = {"Name": name, "Labels": labels, "Data": base64.b64encode(content.encode()).decode()}
        return str(self._result(self._post_json(self._url("/secrets/create"), data=payload), json=True)["ID"])

    @sensitive_variables("credentials", "headers")
    def open_push(self, repository: str, tag: str, *, credentials: str, silence: float) -> requests.Response:
        """Returns the answer of a push, which ends when the registry has the image or the engine gives up.

        It is too slow for a web request.
        """
        headers = {"X-Registry-Auth": credentials or "e30="}  # {}, because the engine requires the header
        url = self._url("/images/{0}/push", repository)
        response: requests.Response = self._post(
            url, params={"tag": tag}, headers=headers, stream=True, timeout=(silence, silence)
        )
        self._raise_for_status(response)
        return response

    def update_limits(self, container: str, limits: dict[str, int]) -> None:
        """Changes the limits of a container. docker-py's own method supports neither processes nor parts of a core."""
        self._result(self._post_json(self._url("/containers/{0}/update", container), data=limits))

    def read_api(self) -> tuple[int, int]:
        """Returns the version of the API that the engine is spoken to in, such as (1, 41)."""
        major, minor = str(self._version).split(".")[:2]
        return int(major), int(minor)
