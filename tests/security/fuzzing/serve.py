"""The server that is fuzzed: one process with threads, so that all of them see the one engine in memory.

python -m tests.security.fuzzing.serve     with the environment that `tests.security.fuzzing.run` makes
"""

import os

import django

BOTS = {"alice": (100001, 100002, 100003), "bob": (200001, 200002, 200003)}
"""Ids of bots by the name of the person who has a project for each."""


def prepare() -> None:
    """Creates people, each of whom has projects with running agents."""
    from containers.get_engine import get_engine
    from projects.models import Plan
    from tests.clients import api_of, make_person
    from tests.security.fuzzing.engines import WorkingEngine

    # A schema cannot express a limit that differs by plan.
    Plan.objects.update(max_projects=10**6, month_tokens=10**8, day_tokens=None, day_money=None, month_money=None)
    for person, bots in BOTS.items():
        client = api_of(make_person(person))
        client.defaults["HTTP_HOST"] = "localhost"
        for bot in bots:
            body = {
                "name": f"Of {person}",
                "telegramToken": f"{bot}:AAtoken-of-a-bot-0123456",
                "apiKey": "sk-0123456789ab",
            }
            answer = client.post("/api/projects", body)
            assert answer.status_code == 201, answer.content
    engine = get_engine()
    assert isinstance(engine, WorkingEngine)
    engine.go()


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.security.fuzzing.settings"
    django.setup()
    prepare()
    from config.serving.gunicorn import WebServer

    WebServer().run()


if __name__ == "__main__":
    main()
