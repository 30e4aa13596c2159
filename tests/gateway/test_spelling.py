"""Servers written in Go read names in any case. A call must not get more from them than the gateway has checked."""

import json
import re
from collections.abc import Iterator

import pytest
from gateway.entries.entry import Entry
from gateway.providers import fees, hidden_input, model_choice, parsed_call, reasoning, rewriting
from gateway.providers.reading import read_call
from gateway.providers.spelling import KNOWN_OPTIONS
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why

from containers.docker_api.building.image_build import GATEWAY
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent

pytestmark = pytest.mark.one_database

USUAL = {"model": "m", "messages": [], "max_tokens": 5}
LOOKED_AT = re.compile(r'\bdocument\b(?:\.get\(|\.pop\(|\[)"(\w+)"')
OF_PARTS = {"data"}
"""Names inside a request, not options of the request itself."""


def read(document: dict[str, object]) -> None:
    entry = Entry("p", models=frozenset({"m"}))
    run_at_once(read_call(Call.CHAT, entry, "application/json", json.dumps(document).encode()))


@pytest.mark.parametrize("name", ["MODEL", "Max_Tokens", "max_toKens", "N", "\u017ftream", "N_Predict", "Background"])
def test_another_spelling_of_an_option_is_refused(name: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read({**USUAL, name: 5})
    assert refused.value.why is Why.BAD


def test_names_that_mean_nothing_here_may_be_spelled_as_they_are() -> None:
    read({**USUAL, "topK": 5, "Seed": 1, "logitBias": {}})
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"Model": {}, "N": {}}}}}
    read({**USUAL, "tools": [tool], "metadata": {"Model": "x"}})


def test_a_model_that_is_not_allowed_is_not_reached_by_another_spelling(
    alice: Agent, provider: StreamingProvider
) -> None:
    alice.gateway.apply(alice.entry(models=["model-a"]))
    assert alice.chat(MODEL="model-dear").status == 400
    assert not provider.sales


def looked_at() -> Iterator[str]:
    for file in (GATEWAY.folder / "gateway" / "providers").glob("*.py"):
        yield from LOOKED_AT.findall(file.read_text())
    for names in parsed_call.LENGTH_OPTIONS.values():
        yield from names
    for more in (
        parsed_call.CHOICE_OPTIONS,
        fees._PAID_OPTIONS,
        model_choice.REDIRECTING_OPTIONS,
        reasoning._OPTIONS,
        hidden_input._OPTIONS,
        rewriting._STANDARD_VALUES,
    ):
        yield from more
    yield from (rewriting._HOST_OPTIONS, "stream_options", "messages", "input")


def test_all_names_at_which_the_gateway_looks_are_known() -> None:
    assert set(looked_at()) - OF_PARTS == KNOWN_OPTIONS
