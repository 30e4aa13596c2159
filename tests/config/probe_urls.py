"""Routes for tests only: each raises what the test has put into `raised`, inside the service's own middleware."""

from typing import NoReturn

from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config import urls

raised: list[Exception] = []


class ProbeSerializer(serializers.Serializer[object]):
    class SettingsSerializer(serializers.Serializer[object]):
        model = serializers.CharField()
        allowed_users = serializers.ListField(child=serializers.IntegerField())

    name = serializers.CharField()
    settings = SettingsSerializer()

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        if attrs["name"] == "impossible":
            raise serializers.ValidationError("These do not go together.", code="conflict")
        return attrs


class Probe(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> NoReturn:
        raise raised.pop()

    def post(self, request: Request) -> Response:
        serializer = ProbeSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        return Response(serializer.validated_data)


class Guarded(APIView):
    def get(self, request: Request) -> Response:
        return Response({})


def page(request: HttpRequest) -> HttpResponse:
    raise raised.pop()


urlpatterns = [
    path("api/probe", Probe.as_view()),
    path("api/guarded", Guarded.as_view()),
    path("probe", page),
    *urls.urlpatterns,
]
handler400, handler403, handler404, handler500 = urls.handler400, urls.handler403, urls.handler404, urls.handler500
