"""Runs in a separate process, after `prepare`:
deploys this many agents of the stub for Alice, one after the other. Prints their keys."""

import sys

import django


def main(number: int) -> None:
    django.setup()
    from accounts.models import User
    from projects.models import Project
    from tests.chaos.stub import STUB_PROJECT
    from tests.clients import api_of

    alice = api_of(User.objects.get())
    for each in range(number):
        answer = alice.post("/api/projects", STUB_PROJECT | {"name": f"Agent {each}"}, format="json")
        assert answer.status_code == 201, answer.content
    sys.stdout.write("\n".join(project.container_key for project in Project.objects.order_by("created_at")))


if __name__ == "__main__":
    main(int(sys.argv[1]))
