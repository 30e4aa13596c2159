"""Runs in a separate process: creates this many users, and prints an API key of each as JSON."""

import json
import sys

import django


def main(number: str) -> None:
    django.setup()
    from projects.models import Allowance, Plan
    from tests.factories import ApiKeyFactory, UserFactory, plain_key

    keys = []
    for _ in range(int(number)):
        user = UserFactory.create()
        Allowance.objects.bulk_create(Allowance(user=user, plan=plan) for plan in Plan.objects.all())
        keys.append(plain_key(ApiKeyFactory.create(user=user)))
    sys.stdout.write(json.dumps(keys))


if __name__ == "__main__":
    main(*sys.argv[1:])
