"""The description of the API, as OpenAPI 3.1."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.parameters import StrictView, describe
from config.api_docs.description import describe_service
from projects.api.parameters import choice

FORMAT = choice("format", "json", description="For programs that ask for a format.")


class SchemaView(StrictView, SpectacularJSONAPIView):
    @describe(parameters=[FORMAT], exclude=True)
    def get(self, request: Request, *_args: Any, **_kwargs: Any) -> Response:
        document = {**describe_service(), "servers": [{"url": address_of(request)}]}
        return Response(document, headers={"Content-Disposition": 'inline; filename="Berth.json"'})


def address_of(request: Request) -> str:
    """Returns the address by which the client reached the service, such as localhost, because /api/docs may call no
    other.
    """
    public = str(settings.BERTH_PUBLIC_URL)
    is_public = request.get_host() == urlsplit(public).netloc
    return public if is_public else request.build_absolute_uri("/").removesuffix("/")
