"""The sentences of the reasons for a status. What to do depends on whether the agent can get well by itself."""

from enum import Enum, auto
from typing import Any

from projects.rules.status.lifecycle import UNPROTECTED
from projects.rules.status.sightings import SOURCE_ADDRESS
from projects.rules.status.waiting import WAITING

BUDGET_REACHED = "budget_reached"


class Outlook(Enum):
    """Whether the agent can get well without its owner's start. `DOWN` means that nothing starts it."""

    RUNS = auto()
    TRIED_AGAIN = auto()
    DOWN = auto()


SENTENCES = {
    # Codes that the agent reports, and the meanings of its exit codes (the agent contract).
    "telegram_token": "Telegram refused the bot token. Paste a new one from @BotFather{then}",
    "telegram_conflict": "Another program polls this bot. Stop the program that uses the token{then}",
    "telegram_unreachable": "Telegram could not be reached. Check the host's network{meanwhile}",
    "provider_key": "The provider refused the API key. Paste a valid key{then}",
    "provider_credit": "The provider account has no credit left. Top it up or paste another key{then}",
    "provider_model": "The provider does not know the model. Choose another model in the settings{then}",
    "provider_busy": "The provider's rate limit is reached. Wait until it is over{meanwhile}",
    "provider_down": "The provider does not answer. Wait until it does{meanwhile}",
    "tools_refused": "A tool server asks for a sign-in or refuses its key. Set a valid key, or remove the server.",
    BUDGET_REACHED: "Budget reached; it resets on {resets}. Set a higher one, or ask the staff; what is left is "
    "too little for an answer.",
    SOURCE_ADDRESS: "The agent's address is not the one Berth gave it. Its credentials may be fine; ask the staff to "
    "remove a NAT rule{meanwhile}",
    "missing_secret": "A credential or setting is missing. Set the bot token and the API key again{then}",
    "bad_configuration": "A setting or an address is wrong. Correct what the log names or ask the staff{then}",
    "memory_unreadable": "The agent cannot open its memory. Ask the staff to check its volume{then}",
    # What the engine reports.
    "out_of_memory": "The agent used more memory than its plan allows. Choose a larger plan{then}",
    "exited": "The agent ended by itself although it should run. Read the log{then}",
    "crash": "The agent crashed (exit code {exit_code}). Read the log{then}",
    "killed": "The agent was killed (exit code {exit_code}), by someone or because memory ran out. {again}",
    "terminated": "The agent was told to end (exit code {exit_code}), but not by Berth. {again}",
    "crash_unseen": "The agent crashed, and was started again before its end could be seen. Read the log{then}",
    "vanished": "The container disappeared from the engine. Start the project to create it again.",
    "never_started": "The container was created but never started. {again}",
    "unresponsive": "The agent runs but has not reached Telegram for 90 seconds. Restart it if this lasts.",
    "unhealthy": "The agent runs, but its own health check fails. Read the log{then}",
    "unexplained": "The agent reports trouble for a reason that Berth does not know. Read the log{then}",
    "paused": "The container is paused on the engine. Restart the project to make it run again.",
    # Obstacles before there is a container.
    "image_missing": "The image of this agent type is not on the engine. Ask the staff to build it, then start.",
    "image_unusable": "No agent can have the image of this type. Ask the staff to try it, which says why, then start.",
    "name_taken": "A container not created by Berth has this project's name. Ask the staff to remove it, then start.",
    "no_capacity": "No machine had the memory for this agent. Start it again later, or choose a smaller plan.",
    "engine_refused": "The engine could not create the container. Start again; if it fails again, tell the staff.",
    "copy_not_returned": "The agent's memory could not be restored, and a copy of it is kept. Start it to try again.",
    "engine_unavailable": "The container engine has not answered about this agent for seconds: it is down, or busy. "
    "Nothing newer is known until it does.",
    "secret_unreadable": "The stored credentials cannot be read. Set the bot token and the API key again, then start.",
    "bot_claimed": "Another project proved that this Telegram bot is its own. Set the token of your bot, then start.",
    "disk_full": "Its memory is full: {disk}. Clear the agent's memory or choose a larger plan, then start.",
    UNPROTECTED: "Agents stay stopped because their firewall is not in force. The staff know; this agent "
    "starts by itself when it is.",
    "gateway_off": "It may only reach the gateway, and the gateway is switched off. Ask the staff, then start.",
    "settings_unusable": "A setting is invalid, so no container can be created. Correct the settings, then start.",
    "suspended": "The staff suspended this project. Ask them to lift the suspension.",
} | WAITING

_ENDINGS = {
    Outlook.RUNS: {"then": ", then restart.", "meanwhile": "; the agent tries again.", "again": "Restart it."},
    Outlook.TRIED_AGAIN: {
        "then": "; it is tried again.",
        "meanwhile": "; it is tried again.",
        "again": "It is tried again automatically.",
    },
    Outlook.DOWN: {"then": ", then start.", "meanwhile": ", then start.", "again": "Start it again."},
}
"""What follows the advice. `meanwhile` is for trouble that an agent gets over while it runs."""

_ONCE_DOWN = {
    BUDGET_REACHED: "Budget reached; it resets on {resets}. Set a higher one or ask the staff, then start.",
    UNPROTECTED: "Agents stay stopped because their firewall is not in force. The staff know; start it when it is.",
}
"""The sentences to use instead for an agent that is down for good."""


def write_sentence(code: str, outlook: Outlook, **figures: Any) -> str:
    """Returns the sentence of a reason. `figures` are `exit_code`, `disk` and `resets`; few are needed."""
    sentence = SENTENCES[code]
    if outlook is Outlook.DOWN:
        sentence = _ONCE_DOWN.get(code, sentence)
    return sentence.format(**_ENDINGS[outlook], **figures)
