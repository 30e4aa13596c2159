"""An agent's image in the API."""

from typing import Any

from rest_framework import serializers


class ImageSerializer(serializers.Serializer[Any]):
    update_available = serializers.BooleanField(help_text="Its type has a newer image; `POST …/update` takes it.")
    updating = serializers.BooleanField(help_text="A new image is about to be tried.")
    pinned = serializers.BooleanField(help_text="The staff decided that it keeps its image.")
