"""/cli: the command line as one file. Anyone may download it, because it contains nothing of the installation."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import condition, require_safe

from config.cli.pack import pack

VERSION_HEADER = "X-Berth-Cli-Version"
"""The version of this program. Strangers must not learn the version of the service."""


def _etag(_request: HttpRequest) -> str:
    return f'"{pack().digest}"'


@csrf_exempt
@require_safe
@cache_control(public=True, max_age=300)
@condition(etag_func=_etag)
def serve_cli(_request: HttpRequest) -> HttpResponse:
    packed = pack()
    headers = {"Content-Disposition": 'attachment; filename="berth"', VERSION_HEADER: packed.version}
    return HttpResponse(packed.content, content_type="application/octet-stream", headers=headers)
