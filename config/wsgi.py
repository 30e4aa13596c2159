"""The WSGI application."""

import os

from django.core.wsgi import get_wsgi_application

from config.http.request_bodies import bound_chunked_bodies, ignore_content_type_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = ignore_content_type_parameters(bound_chunked_bodies(get_wsgi_application()))
