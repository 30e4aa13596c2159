"""Runs in a separate process: creates an agent type whose credentials are checked, and two users.
Prints their API keys."""

import json
import sys

import django


def main(image: str) -> None:
    django.setup()
    from projects.models import AgentType, Allowance, Plan
    from tests.chaos.inside.prepare import add_offers
    from tests.chaos.matrix.offers import add_bot_type
    from tests.factories import ApiKeyFactory, UserFactory, plain_key

    add_offers(AgentType, Plan, image)
    add_bot_type(image)
    users = [UserFactory.create(), UserFactory.create()]
    Allowance.objects.bulk_create(Allowance(user=user, plan=plan) for user in users for plan in Plan.objects.all())
    sys.stdout.write(json.dumps([plain_key(ApiKeyFactory.create(user=user)) for user in users]))


if __name__ == "__main__":
    main(*sys.argv[1:])
