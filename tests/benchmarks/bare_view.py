"""A Django view without middleware that sends as many bytes as asked. Only gunicorn imports it."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path


def send(_request: HttpRequest, size: int) -> HttpResponse:
    return HttpResponse(b"x" * size, content_type="application/json")


urlpatterns = [path("<int:size>", send)]

if os.environ.get("BERTH_BENCH_BARE"):
    settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], MIDDLEWARE=[], SECRET_KEY=os.urandom(16).hex())
    application = get_wsgi_application()
