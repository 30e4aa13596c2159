"""The description of the API, as OpenAPI 3.1."""

from typing import Any

from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request

from accounts.api.parameters import StrictView, describe
from projects.api.parameters import choice

FORMAT = choice("format", "json", description="As programs that read descriptions often ask.")


class SchemaView(StrictView, SpectacularJSONAPIView):
    @describe(parameters=[FORMAT], exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        return super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]  # spectacular's
