import os
import select
import time

from django.apps import AppConfig


class InsideConfig(AppConfig):
    """Installs the hooks in every process with the settings of chaos."""

    name = "tests.chaos.inside"
    label = "inside"

    def ready(self) -> None:
        from tests.chaos.inside.kill_points import install

        install()
        if "FAKETIME_TIMESTAMP_FILE" in os.environ:
            # libfaketime takes an absolute time on the monotonic clock for one on the stepped clock, and refuses it.
            time.sleep = lambda seconds: select.select([], [], [], float(seconds))  # type: ignore[assignment]  # its parameter has a name
