"""No provider charges more for any call than the gateway has reserved.

The provider of these tests reads requests by its own rules and charges the most that any known provider would.
"""

import json
import random
from typing import Any

import pytest
from gateway.budgets.prices import max_price_for
from gateway.entries.entry import Budget, Entry, Kind, Limits, Price, Provider
from gateway.meters.usage import MILLION, Usage, cost_of
from gateway.providers.options import ALLOWED_OPTIONS
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.reading import read_call
from gateway.providers.rewriting import rewrite, write_body
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import read_provider
from gateway.rules.refusals import RefusedError

from tests.fakes.messages import Answer, Request
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.expensive_provider import UNLIMITED, charge_for
from tests.gateway.generated_calls import INVENTED, PATHS, generate

pytestmark = pytest.mark.one_database

CALLS = 40
"""Calls for each seed."""
PRICES = {name: Price(3 * MILLION, 7 * MILLION, MILLION) for name in ("m", "gpt-4o-mini", "claude-x")}
PRICES |= {"openai/gpt-5.4": Price(9 * MILLION, 20 * MILLION, MILLION), "grok-4": Price(MILLION, MILLION, MILLION)}
BUDGETS = (Budget(day_tokens=2**50), Budget(month_money=2**50), Budget(day_tokens=2**50, day_money=2**50))


def entry_for(kind: Kind, budget: Budget) -> Entry:
    provider = Provider("digest", "key", kind, "https://llm.example.com")
    return Entry("p", provider=provider, prices=PRICES, budget=budget, limits=Limits(answer_tokens=100))


def send(entry: Entry, kind: Kind, path: str, document: dict[str, Any]) -> ParsedCall:
    """Returns the call as `ProviderCalls` would send it. Raises RefusedError."""
    found = read_provider("POST", f"/llm/v1/{path}", kind)
    assert found is not None
    parsed = run_at_once(read_call(found[0], entry, "application/json", json.dumps(document).encode()))
    rewrite(parsed, entry, kind, parsed.output)
    run_at_once(write_body(parsed))
    return parsed


def price_at(kind: Kind, sent: dict[str, Any]) -> Price:
    """Returns the provider's price of the most expensive model that may answer."""
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
            parsed = send(entry, kind, path, document)
        except RefusedError:
            continue
        passed += 1
        sent = json.loads(parsed.body)
        charge = charge_for(path, sent)
        assert charge.tokens <= parsed.input + parsed.output, (path, budget, document, charge)
        if budget.is_of_money:
            reserved = cost_of(Usage(parsed.input, parsed.output), reserved_price(entry, parsed))
            price = price_at(kind, sent)
            costs = charge.cache_factor * charge.input * price.input + charge.output * price.output
            costs *= charge.factor / MILLION
            assert costs <= reserved, (path, document, charge, reserved)
    assert passed > CALLS // 10


def reserved_price(entry: Entry, parsed: ParsedCall) -> Price | None:
    return max_price_for(entry, (parsed.model, *parsed.fallbacks), parsed.input, is_cached=parsed.is_cached)


@pytest.mark.parametrize("name", INVENTED)
@pytest.mark.parametrize("budget", BUDGETS)
def test_an_unknown_option_is_not_sent_under_a_budget(name: str, budget: Budget) -> None:
    document = {"model": "m", "messages": [], name: INVENTED[name][0], "temperature": 0.5}
    if name in ALLOWED_OPTIONS:
        with pytest.raises(RefusedError):
            send(entry_for(Kind.COMPATIBLE, budget), Kind.COMPATIBLE, "chat/completions", document)
        return
    sent = json.loads(send(entry_for(Kind.COMPATIBLE, budget), Kind.COMPATIBLE, "chat/completions", document).body)
    assert name not in sent
    assert sent["temperature"] == 0.5


class ExpensiveProvider(StreamingProvider):
    """Charges as much as possible for each call, and reports that usage."""

    charged = 0

    def answer(self, request: Request) -> Answer | None:
        path, sent = request.path.partition("/v1/")[2], request.fields()
        charge = charge_for(path, sent)
        with self.changed:
            self.charged += charge.tokens
        is_new = path in ("messages", "responses")
        input_name, output_name = (
            ("input_tokens", "output_tokens") if is_new else ("prompt_tokens", "completion_tokens")
        )
        usage = {input_name: charge.input, output_name: charge.output}
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
    """Each answer may be as long as the budget allows, so each call reserves the budget to the last token."""
    chance = random.Random(seed * 10 + list(Kind).index(kind))
    paths = ("messages",) if kind is Kind.ANTHROPIC else PATHS[:3]
    with ExpensiveProvider() as dear:
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
