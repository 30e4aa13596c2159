"""The format of API keys: anything else is refused without a query."""

import itertools

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.credentials.api_keys import (
    ALPHABET,
    CHECKSUM_LENGTH,
    PREFIX,
    RANDOM_LENGTH,
    digest_key,
    is_well_formed,
    make_key,
)
from accounts.models import User
from tests.factories import ApiKeyFactory, plain_key


def test_keys_are_52_characters_that_a_double_click_selects() -> None:
    key = make_key()

    assert len(key) == 52
    assert key.startswith("berth_")
    assert key.replace("_", "").isalnum()
    assert is_well_formed(key)
    assert len(digest_key(key)) == 64


def test_a_key_has_238_random_bits() -> None:
    assert len(set(ALPHABET)) ** RANDOM_LENGTH >= 2**238
    keys = {make_key() for _ in range(1000)}
    assert {len(key) for key in keys} == {len(PREFIX) + RANDOM_LENGTH + CHECKSUM_LENGTH}
    places = list(zip(*(key[len(PREFIX) : -CHECKSUM_LENGTH] for key in keys), strict=True))
    assert len(places) == RANDOM_LENGTH
    assert all(len(set(place)) > len(ALPHABET) // 2 for place in places), "each character is drawn"
    assert len(keys) == 1000


def test_none_of_100_000_typing_errors_is_accepted_as_a_key() -> None:
    keys = [make_key() for _ in range(40)]
    mutations = itertools.islice(_one_character_off(keys), 100_000)

    assert sum(is_well_formed(mutation) for mutation in mutations) == 0


def test_typing_errors_cost_no_query(
    client: Client, alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    key = plain_key(ApiKeyFactory.create(user=alice))
    with django_assert_num_queries(0):
        for mutation in itertools.islice(_one_character_off([key]), 0, 3000, 10):
            headers = {"Authorization": f"Bearer {mutation}"}
            assert client.get("/api/auth/session", headers=headers).json()["authenticated"] is False


@pytest.mark.parametrize("change", [str.upper, str.lower, lambda key: key[:-1], lambda key: key + "0", str.swapcase])
def test_other_changes_are_refused_too(change: object) -> None:
    assert callable(change)
    assert not is_well_formed(change(make_key()))


def _one_character_off(keys: list[str]) -> "itertools.chain[str]":
    return itertools.chain.from_iterable(
        (key[:position] + other + key[position + 1 :])
        for key in keys
        for position, right in enumerate(key)
        if position >= len(PREFIX)
        for other in ALPHABET
        if other != right
    )
