"""Users and API keys for tests. Everyone's password is the canary, so that a leaked one is noticed."""

import logging
from datetime import timedelta
from typing import Any

from django.utils import timezone
from factory.declarations import LazyFunction, Sequence, SubFactory, Trait
from factory.django import DjangoModelFactory

from accounts.credentials.api_keys import digest_key, hint_key, make_key
from accounts.models import ApiKey, Scope, User
from tests.canaries import CANARY_PASSWORD

# At DEBUG it describes each step, which takes half of the time for creating a user.
logging.getLogger("factory").setLevel(logging.WARNING)


class UserFactory(DjangoModelFactory[User]):
    class Meta:
        model = User

    email = Sequence(lambda number: f"user{number}@example.com")
    password = CANARY_PASSWORD

    class Params:
        staff = Trait(is_staff=True)
        admin = Trait(is_staff=True, is_superuser=True)

    @classmethod
    def _create(cls, model_class: type[User], *args: Any, **kwargs: Any) -> User:
        return model_class.objects.create_user(*args, **kwargs)


class ApiKeyFactory(DjangoModelFactory[ApiKey]):
    """For a key that was created here, `plain_key` is the key itself."""

    class Meta:
        model = ApiKey

    user = SubFactory(UserFactory)
    name = Sequence(lambda number: f"key {number}")
    scope = Scope.WRITE
    lifetime_days = 90
    expires_at = LazyFunction(lambda: timezone.now() + timedelta(days=90))

    class Params:
        expired = Trait(
            created_at=LazyFunction(lambda: timezone.now() - timedelta(days=91)),
            expires_at=LazyFunction(lambda: timezone.now() - timedelta(days=1)),
        )
        revoked = Trait(revoked_at=LazyFunction(timezone.now))

    @classmethod
    def _create(cls, model_class: type[ApiKey], *args: Any, **kwargs: Any) -> ApiKey:
        key = make_key()
        row: ApiKey = super()._create(model_class, *args, digest=digest_key(key), hint=hint_key(key), **kwargs)
        row.plain = key  # type: ignore[attr-defined]  # no column: the plain key is stored nowhere
        return row


def plain_key(row: ApiKey) -> str:
    key: str = row.plain  # type: ignore[attr-defined]  # only rows of the factory have it
    return key
