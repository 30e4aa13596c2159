from django.apps import AppConfig


class InsideConfig(AppConfig):
    """Puts the hooks in place in every process that has the settings of chaos."""

    name = "tests.chaos.inside"
    label = "inside"

    def ready(self) -> None:
        from tests.chaos.inside.kill_points import install

        install()
