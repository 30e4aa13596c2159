"""The production web server, with the settings that the environment names."""

import django


def main() -> None:
    django.setup()
    from config.serving.gunicorn import WebServer

    WebServer().run()


if __name__ == "__main__":
    main()
