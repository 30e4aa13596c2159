"""Calls that docker-py does not send as an engine understands them: services and secrets, in the API's own words."""

import base64
from typing import Any

from containers.docker_api.short_requests import ShortRequests


class SwarmCalls(ShortRequests):
    """Calls about services. docker-py's own methods list and remove them."""

    def create_service_from(self, payload: dict[str, Any]) -> str:
        """The id of the new service. Its image is taken as it is named: no registry is asked (`--no-resolve-image`)."""
        return str(self._result(self._post_json(self._url("/services/create"), data=payload), json=True)["ID"])

    def update_service_to(self, service: str, version: int, payload: dict[str, Any]) -> None:
        """Raises where the service has another version by now: somebody else was faster."""
        url = self._url("/services/{0}/update", service)
        self._result(self._post_json(url, data=payload, params={"version": version}), json=True)

    def create_secret_from(self, name: str, content: str, labels: dict[str, str]) -> str:
        """The id of the new secret."""
        payload = {"Name": name, "Labels": labels, "Data": base64.b64encode(content.encode()).decode()}
        return str(self._result(self._post_json(self._url("/secrets/create"), data=payload), json=True)["ID"])

    def read_api(self) -> tuple[int, int]:
        """Of the engine, such as (1, 41). Raises `ValueError` where it says none."""
        major, minor = str(self._version).split(".")[:2]
        return int(major), int(minor)
