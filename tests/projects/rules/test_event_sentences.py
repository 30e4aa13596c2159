"""Every event that the service writes has a sentence."""

import re

import pytest

from containers.agent_contract import ProblemCode
from projects.rules.event_sentences import _OF, describe_event
from projects.rules.permissions import Egress
from projects.rules.status.remedies import Remedy
from projects.rules.status.sentences import SENTENCES
from tests.paths import ROOT

pytestmark = pytest.mark.one_database
WRITTEN = re.compile(r"\.event\(\s*\w+,\s*\"([\w ]+)\",\s*\"([\w ]+)\"")
"""Events whose action and outcome are written out in the source."""


def test_every_event_in_the_source_has_a_sentence() -> None:
    source = "".join(path.read_text() for path in (ROOT / "projects").rglob("*.py"))
    written = set(WRITTEN.findall(source))
    assert len(written) >= 8
    warnings = {(action, "warning") for action in ("deploy", "update", "delete")}
    for action, outcome in written - warnings - {("update", "done")}:
        assert (action, outcome) in _OF, (action, outcome)


def test_a_pairing_link_is_described_with_its_effect() -> None:
    assert describe_event("pairing", "done", "replace") == "A pairing link was created: replace"


def test_every_remedy_and_permission_has_a_sentence() -> None:
    assert {("egress", egress.value) for egress in Egress} <= set(_OF)
    assert {(remedy.value, "done") for remedy in Remedy} <= set(_OF)
    assert {(action, word) for action in ("start", "stop", "restart") for word in ("done", "failed")} <= set(_OF)


@pytest.mark.parametrize("action", ["crash", "deploy"])
def test_events_give_every_reason_without_advice(action: str) -> None:
    for code in (*SENTENCES, *map(str, ProblemCode), "", "x{y}"):
        sentence = describe_event(action, code)
        assert sentence.startswith(("Crashed", "Could not be deployed")), code
        assert not re.search(r"[{}]|\.$|: $|start\b|paste", sentence.partition(": ")[2] + sentence[-1:]), sentence


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (("crash", "telegram_token"), "Crashed: Telegram refused the bot token"),
        (("crash", "crash"), "Crashed"),
        # Also after a single crash, if no restart can help.
        (("give up", "done"), "No longer restarted automatically"),
        (("crash", "disk_full"), "Crashed"),
        (("update", "done", "changed: name, settings.model"), "Changed: name, settings.model"),
        (("update", "warning", "The provider does not answer."), "A warning: The provider does not answer"),
        (("delete", "warning", "It may still be there."), "A warning: It may still be there"),
        (("budget", "reached", "of the day"), "The budget is reached: of the day"),
        (("new thing", "half_done"), "New thing: half done"),
    ],
)
def test_examples(event: tuple[str, ...], sentence: str) -> None:
    assert describe_event(*event) == sentence
