"""Describes events in sentences for people. The API keeps the codes."""

from projects.rules.status.sentences import SENTENCES

_OF = {
    ("deploy", "done"): "Deployed",
    ("start", "done"): "Started",
    ("start", "failed"): "Could not be started",
    ("start", "nothing to do"): "Not started, because it was already running",
    ("stop", "done"): "Stopped",
    ("stop", "recorded"): "Stops as soon as the engine can stop it",
    ("stop", "failed"): "Could not be stopped",
    ("restart", "done"): "Restarted",
    ("restart", "failed"): "Could not be restarted",
    ("restart", "nothing to do"): "Not restarted, because there was nothing to do",
    ("delete", "recorded"): "Will be deleted as soon as the engine can delete it",
    ("delete", "failed"): "Could not be deleted",
    ("delete", "done"): "Deleted",
    ("suspend", "done"): "Suspended",
    ("suspend", "recorded"): "Suspended; it stops as soon as the engine can stop it",
    ("suspend", "failed"): "Suspended, but could not be stopped",
    ("lift suspension", "done"): "Suspension lifted",
    ("clear memory", "done"): "Memory cleared",
    ("clear memory", "failed"): "The memory could not be cleared",
    ("move", "done"): "Its memory was copied to another engine",
    ("adopt", "done"): "Taken over by this installation",
    ("verify bot", "done"): "Telegram confirmed the bot token",
    ("verify bot", "failed"): "Telegram did not confirm the bot token",
    ("budget", "warning"): "Most of the budget is spent",
    ("budget", "reached"): "The budget is reached",
    ("budget", "granted"): "The staff granted another budget",
    ("egress", "gateway"): "May only reach the gateway from the next start on",
    ("egress", "internet"): "May reach the internet again from the next start on",
    ("memory", "gone"): "Its memory is no longer on the engine: it starts with an empty one",
    ("disk", "warning"): "Its memory on the disk is nearly full",
    ("disk", "full"): "Its memory on the disk is full",
    ("disk", "room"): "There is room on the disk again",
    ("gateway", "not told"): "The gateway could not be notified of a change",
    ("new credentials", "tried again"): "Tried again with its new credentials",
    ("new image", "recorded"): "Will get the newest image of its type",
    ("new image", "nothing to do"): "Already had the newest image",
    ("new image", "started"): "Started with a new image, which must become ready",
    ("new image", "done"): "Runs the new image",
    ("new image", "given up"): "The new image was given up",
    ("new image", "undone"): "Runs its old image again, with its memory from before",
    ("new image", "failed"): "Could not get a new image",
    ("new image", "pinned"): "The staff decided that it keeps its image",
    ("new image", "released"): "It may get new images again",
    ("pairing", "done"): "A pairing link was created",
    ("give up", "done"): "No longer restarted automatically",
    ("bring back", "done"): "Started again",
    ("bring back", "failed"): "Could not be started again",
    ("recreate", "done"): "Its container was gone and was created again",
    ("recreate", "failed"): "Its container was gone and could not be created again",
    ("take down", "done"): "Stopped",
    ("take down", "failed"): "Could not be stopped",
    ("finish deletion", "done"): "Deleted",
    ("finish deletion", "failed"): "Could not be deleted yet",
    ("realign", "done"): "Its container was changed from outside and was repaired",
    ("stop without firewall", "done"): "Stopped, because the agents' firewall is not in place",
    ("stop without firewall", "failed"): "Could not be stopped, although the agents' firewall is not in place",
    ("declare failed", "done"): "Its container disappeared again",
    ("recover", "done"): "Well again",
}

_BY_CODE = {"crash": "Crashed", "degraded": "In trouble"}
"""The sentences of actions whose outcome is the code of a reason."""


def describe_event(action: str, outcome: str, detail: str = "") -> str:
    """Returns a sentence without a full stop, such as `Restarted` or `Crashed: Telegram refused the bot token`."""
    match action, outcome:
        case "crash" | "degraded", code:
            return _join(_BY_CODE[action], describe_reason(code) if code != action else "")
        case "update", "done":
            return _join("Changed", detail.removeprefix("changed: "))
        case "verify bot", "failed":
            detail = describe_reason(detail)
        case "deploy" | "update" | "delete", "warning":
            return _join("A warning", detail)
        case "deploy", code if (action, outcome) not in _OF:
            return _join("Could not be deployed", describe_reason(code))
    return _join(_OF.get((action, outcome)) or f"{action.capitalize()}: {outcome.replace('_', ' ')}", detail)


def describe_reason(code: str) -> str:
    """Returns the meaning of a reason's code, without advice.

    It is empty if the code is unknown or the sentence needs a figure that is missing here.
    """
    first = SENTENCES.get(code, "").partition(". ")[0].replace(" (exit code {exit_code})", "")
    return "" if "{" in first else first


def _join(sentence: str, detail: str) -> str:
    return f"{sentence}: {detail.rstrip('.')}" if detail else sentence
