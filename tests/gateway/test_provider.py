"""The gateway adds the real key to calls to a provider, and counts the usage in the answers."""

import http.client
import json

import pytest

from tests.fakes.messages import Answer as FakeAnswer
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent

pytestmark = pytest.mark.one_database

PATHS = {"chat/completions": "openai", "responses": "openai", "messages": "anthropic"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_an_answer_passes_and_its_cost_is_counted(
    alice: Agent, provider: StreamingProvider, path: str, stream: bool
) -> None:
    alice.gateway.apply(alice.entry(kind=PATHS[path]))
    answer = alice.chat("one two three", path=path, stream=stream, input="")
    assert answer.status == 200
    assert b"word9" in answer.body
    costs = alice.settled()
    assert (costs["input"], costs["output"], costs["estimated"]) == (3, 10, 0)
    (row,) = alice.gateway.usage(alice.project)
    assert row["model"] == "model-a"
    (sale,) = provider.sales
    assert sale.key == alice.key


def test_the_provider_sees_only_the_necessary_headers(alice: Agent, provider: StreamingProvider) -> None:
    alice.ask(
        "POST", "/llm/v1/chat/completions?api_key=x&beta=true",
        {"model": "model-a", "messages": []},
        headers={**alice.login, "Cookie": "a=b", "X-Forwarded-For": "1.2.3.4", "Proxy-Authorization": "Basic eA=="},
    )  # fmt: skip
    (sale,) = provider.sales
    passed = {name for name in sale.headers if name not in ("host", "content-length")}
    assert passed == {"authorization", "content-type", "accept-encoding"}
    assert alice.virtual_key not in str(sale.headers)
    assert "api_key" not in str(sale.body)


def test_the_extra_event_with_the_usage_is_hidden_unless_it_was_asked_for(alice: Agent) -> None:
    hidden = alice.chat(stream=True).body
    assert b'"choices": []' not in hidden
    assert hidden.endswith(b"data: [DONE]\n\n")
    shown = alice.chat(stream=True, stream_options={"include_usage": True}).body
    assert b'"choices": []' in shown


def test_a_stream_passes_piece_by_piece(alice: Agent, provider: StreamingProvider) -> None:
    provider.gate.clear()
    with alice.connected() as connection:
        body = json.dumps({"model": "model-a", "messages": [], "stream": True})
        connection.request("POST", "/llm/v1/chat/completions", body, alice.login)
        with connection.getresponse() as answer:
            assert b"word0" in answer.readline()
            provider.gate.set()
            assert b"word9" in answer.read()


def test_a_stream_that_the_provider_breaks_off_is_estimated_and_marked(
    alice: Agent, provider: StreamingProvider
) -> None:
    provider.break_after = 4
    with pytest.raises(http.client.IncompleteRead):
        alice.chat(stream=True)
    costs = alice.settled()
    assert costs["estimated"] == costs["errors"] == 1
    assert costs["output"] >= 4


def test_a_stream_that_the_agent_breaks_off_ends_at_the_provider_and_is_marked(
    alice: Agent, provider: StreamingProvider
) -> None:
    provider.gate.clear()
    with alice.connected() as connection:
        body = json.dumps({"model": "model-a", "messages": [], "stream": True})
        connection.request("POST", "/llm/v1/chat/completions", body, alice.login)
        answer = connection.getresponse()
        assert b"word0" in answer.readline()
        answer.close()
    costs = alice.settled()
    assert costs["estimated"] == 1
    assert 1 <= costs["output"] < 10


def test_a_stream_without_usage_is_estimated_and_marked(alice: Agent, provider: StreamingProvider) -> None:
    provider.tells_usage = False
    assert alice.chat(stream=True).status == 200
    costs = alice.settled()
    assert (costs["estimated"], costs["errors"]) == (1, 0)
    assert costs["output"] >= 10


def test_a_new_key_works_at_once(alice: Agent, provider: StreamingProvider) -> None:
    alice.chat()
    alice.key = "sk-CANARYnewCANARYnewCANARYnew"
    alice.gateway.apply(alice.entry())
    alice.chat()
    assert [sale.key for sale in provider.sales][1] == alice.key


def test_a_model_outside_the_list_is_refused(alice: Agent, provider: StreamingProvider) -> None:
    alice.gateway.apply(alice.entry(models=["model-b"]))
    answer = alice.chat()
    assert answer.status == 404
    assert alice.chat(model="model-b", models=["model-b", "model-a"]).status == 404
    assert not provider.sales
    assert alice.chat(model="model-b").status == 200


def test_errors_of_the_provider_come_back_without_any_part_of_the_key(
    alice: Agent, provider: StreamingProvider
) -> None:
    words = f"Incorrect API key provided: {alice.key[:8]}*****{alice.key[-4:]} aka {alice.key}."
    provider.answer_with = FakeAnswer.json(401, {"error": {"message": words}}, X_Request_Id=alice.key, Retry_After="7")
    answer = alice.chat()
    assert answer.status == 401
    assert answer.headers["retry-after"] == "7"
    assert b"CANARY" not in answer.body
    assert alice.key[-4:].encode() not in answer.body
    assert "CANARY" not in str(answer.headers)
    assert alice.settled()["errors"] == 1
    seen = alice.gateway.ask("truth")["seen"][alice.project]
    assert seen["provider_status"] == 401


def test_an_answer_that_repeats_the_key_is_cut_off(alice: Agent, provider: StreamingProvider) -> None:
    provider.answer_with = FakeAnswer.json(200, {"headers": {"Authorization": f"Bearer {alice.key}"}})
    with pytest.raises((http.client.HTTPException, OSError)):
        alice.chat()


def test_a_redirect_is_neither_followed_nor_passed_on(alice: Agent, provider: StreamingProvider) -> None:
    elsewhere = f"{provider.url}/elsewhere?key={alice.key}"
    provider.answer_with = FakeAnswer(307, b"", {"Location": elsewhere})
    answer = alice.chat()
    assert answer.status in (307, 502)
    assert "location" not in answer.headers
    assert len(provider.requests) == 1


def test_a_provider_that_is_down_is_a_bad_gateway_and_costs_nothing(alice: Agent, provider: StreamingProvider) -> None:
    provider.stop()
    assert alice.chat().status == 502
    costs = alice.settled()
    assert (costs["input"], costs["output"], costs["errors"]) == (0, 0, 1)


@pytest.mark.parametrize("kind", ["openai", "anthropic", "openrouter", "compatible"])
def test_lists_of_models_are_free_and_pass(alice: Agent, kind: str) -> None:
    alice.gateway.apply(alice.entry(kind=kind))
    answer = alice.ask("GET", "/llm/v1/models?limit=1000", headers={"x-api-key": alice.virtual_key})
    assert answer.json()["data"] == [{"id": "model-a"}]
    assert alice.ask("GET", "/llm/v1/models/openai%2Fmodel-a:free", headers=alice.login).status == 200
    assert alice.gateway.usage(alice.project) == []


def test_embeddings_count_their_input(alice: Agent, provider: StreamingProvider) -> None:
    answer = alice.ask("POST", "/llm/v1/embeddings", {"model": "e", "input": "three words here"}, headers=alice.login)
    assert answer.status == 200
    costs = alice.settled()
    assert (costs["input"], costs["output"], costs["estimated"]) == (3, 0, 0)


FORM = (
    b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\n%s\r\n'
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.ogg"\r\n\r\n\x00\xff\r\n--x--\r\n'
)


@pytest.mark.parametrize("budget", [{}, {"day_money": 10**9}, {"day_tokens": 10**6}], ids=["none", "money", "tokens"])
def test_a_sound_passes_unchanged_and_counts_a_flat_number(
    alice: Agent, provider: StreamingProvider, budget: dict[str, int]
) -> None:
    provider.tells_usage = False
    prices = {"whisper": {"input": 1, "output": 1}}
    alice.gateway.apply(alice.entry(models=["whisper"], limits={"media_tokens": 77}, budget=budget, prices=prices))
    headers = {**alice.login, "Content-Type": "multipart/form-data; boundary=x"}
    path = "/llm/v1/audio/transcriptions"
    assert alice.ask("POST", path, FORM % b"whisper", headers=headers).status == 200
    costs = alice.settled()
    assert (costs["input"], costs["output"], costs["estimated"]) == (77, 0, 1)
    for body in (FORM % b"other", FORM.replace(b'"model"', b'"nothing"') % b"whisper", b"no form"):
        assert alice.ask("POST", path, body, headers=headers).status in (400, 404)
    assert len(provider.sales) == 1
