"""Whatever call an agent makes up, no provider charges more for it than the gateway has reserved.

The provider of these tests reads requests by its own rules and charges the most that any known provider would.
"""

import json
import random
from typing import Any

import pytest
from gateway.budgets.prices import max_price_for
from gateway.entries.entry import Budget, Entry, Kind, Limits, Price, Provider
from gateway.meters.usage import MILLION, Usage, cost_of
from gateway.providers.options import ALL, remove_unknown_options
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.reading import read_call
from gateway.providers.rewriting import limit_length, limit_price, remove_surcharges, request_usage, write_body
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import read_provider
from gateway.rules.refusals import RefusedError

from tests.fakes.messages import Answer, Request
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.dear_provider import UNLIMITED, charge_for
from tests.gateway.generated_calls import INVENTED, PATHS, generate

pytestmark = pytest.mark.one_database

CALLS = 40
"""For each seed."""
PRICES = {name: Price(3 * MILLION, 7 * MILLION, MILLION) for name in ("m", "gpt-4o-mini", "claude-x")}
PRICES |= {"openai/gpt-5.4": Price(9 * MILLION, 20 * MILLION, MILLION), "grok-4": Price(MILLION, MILLION, MILLION)}
BUDGETS = (Budget(day_tokens=2**50), Budget(month_money=2**50), Budget(day_tokens=2**50, day_money=2**50))


def entry_for(kind: Kind, budget: Budget) -> Entry:
    provider = Provider("digest", "key", kind, "https://llm.example.com")
    return Entry("p", provider=provider, prices=PRICES, budget=budget, limits=Limits(answer_tokens=100))


def send(entry: Entry, kind: Kind, path: str, document: dict[str, Any]) -> ParsedCall:
    """As `ProviderCalls` does, whose whole way the test below takes. Raises RefusedError."""
    found = read_provider("POST", f"/llm/v1/{path}", kind)
    assert found is not None
    asked = run_at_once(read_call(found[0], entry, "application/json", json.dumps(document).encode()))
    limit_length(asked, asked.output, kind)
    remove_unknown_options(asked.document)
    if entry.budget.is_of_money:
        remove_surcharges(asked, entry.prices)
        limit_price(asked, entry)
    request_usage(asked, kind)
    run_at_once(write_body(asked))
    return asked


def price_at(kind: Kind, sent: dict[str, Any]) -> Price:
    """What the provider takes for a token, in millionths for a million: the dearest model that may answer."""
    names = [
        str(sent["model"]),
        *(each if isinstance(each, str) else each["model"] for each in sent.get("models") or ()),
    ]
    names += [each if isinstance(each, str) else each["model"] for each in sent.get("fallbacks") or ()]
    most = (sent.get("provider") or {}).get("max_price") if kind is Kind.OPENROUTER else None
    unpriced = Price(int(most["prompt"] * MILLION), int(most["completion"] * MILLION), 0) if most else None
    known = [PRICES.get(name.partition(":nitro")[0]) or unpriced for name in names if not name.endswith(":free")]
    if None in known:
        return Price(UNLIMITED, UNLIMITED, 0)
    prices = [each for each in known if each is not None]
    return Price(max((each.input for each in prices), default=0), max((each.output for each in prices), default=0), 0)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("seed", range(100))
def test_no_generated_call_is_charged_more_than_is_reserved(seed: int, kind: Kind) -> None:
    chance, passed = random.Random(seed * 10 + list(Kind).index(kind)), 0
    paths = ("messages",) if kind is Kind.ANTHROPIC else PATHS
    for _ in range(CALLS):
        path, budget = chance.choice(paths), chance.choice(BUDGETS)
        document, entry = generate(chance, path), entry_for(kind, budget)
        try:
            asked = send(entry, kind, path, document)
        except RefusedError:
            continue
        passed += 1
        sent = json.loads(asked.body)
        charge = charge_for(path, sent)
        assert charge.tokens <= asked.input + asked.output, (path, budget, document, charge)
        if budget.is_of_money:
            reserved = cost_of(Usage(asked.input, asked.output), most_for_call(entry, asked))
            price = price_at(kind, sent)
            costs = charge.kept * charge.input * price.input + charge.output * price.output
            costs *= charge.factor / MILLION
            assert costs <= reserved, (path, document, charge, reserved)
    assert passed > CALLS // 10


def most_for_call(entry: Entry, asked: ParsedCall) -> Price | None:
    return max_price_for(entry, (asked.model, *asked.fallbacks), asked.input, is_cached=asked.is_cached)


@pytest.mark.parametrize("name", INVENTED)
@pytest.mark.parametrize("budget", BUDGETS)
def test_an_option_that_nobody_has_looked_at_is_not_sent_under_a_budget(name: str, budget: Budget) -> None:
    document = {"model": "m", "messages": [], name: INVENTED[name][0], "temperature": 0.5}
    if name in ALL:
        with pytest.raises(RefusedError):
            send(entry_for(Kind.COMPATIBLE, budget), Kind.COMPATIBLE, "chat/completions", document)
        return
    sent = json.loads(send(entry_for(Kind.COMPATIBLE, budget), Kind.COMPATIBLE, "chat/completions", document).body)
    assert name not in sent
    assert sent["temperature"] == 0.5


class DearProvider(StreamingProvider):
    """Charges for each call as much as it may, and reports that."""

    charged = 0

    def answer(self, request: Request) -> Answer | None:
        path, sent = request.path.partition("/v1/")[2], request.fields()
        charge = charge_for(path, sent)
        with self.changed:
            self.charged += charge.tokens
        is_new = path in ("messages", "responses")
        given, written = ("input_tokens", "output_tokens") if is_new else ("prompt_tokens", "completion_tokens")
        usage = {given: charge.input, written: charge.output}
        if sent.get("stream") is not True:
            return Answer.json(200, {"id": "a", "model": str(sent.get("model")), "usage": usage})
        events = {
            "messages": [{"type": "message_delta", "usage": usage}],
            "responses": [{"type": "response.completed", "response": {"usage": usage}}],
        }.get(path, [{"id": "a", "choices": [], "usage": usage}])
        body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
        return Answer(200, body, {"Content-Type": "text/event-stream"})


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("seed", range(20))
def test_a_budget_holds_for_generated_calls_to_the_dearest_provider(seed: int, kind: Kind, alice: Agent) -> None:
    """Each call may have an answer as long as the budget, so that it is reserved to the last token."""
    chance = random.Random(seed * 10 + list(Kind).index(kind))
    paths = ("messages",) if kind is Kind.ANTHROPIC else PATHS[:3]
    with DearProvider() as dear:
        entry = alice.entry(kind=kind, limits={"answer_tokens": 2**24})
        entry["provider"]["base"] = f"{dear.url}/v1"
        counted = 0
        for _ in range(CALLS // 2):
            budget = counted + round(10 ** chance.uniform(2, 6))
            alice.gateway.apply({**entry, "budget": {"day_tokens": budget}})
            before, path = dear.charged, chance.choice(paths)
            document = generate(chance, path)
            answer = alice.ask("POST", f"/llm/v1/{path}", json.dumps(document).encode(), headers=alice.login)
            counted = sum(row["input"] + row["output"] for row in alice.gateway.usage(alice.project))
            assert dear.charged <= budget, (document, answer, dear.charged - before)
            assert counted == dear.charged, (document, answer)
