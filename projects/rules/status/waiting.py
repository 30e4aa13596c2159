"""Sentences for the owner of an agent that waits for a machine of the Swarm."""

from containers.agent_reports import Waits

WAITING = {
    str(Waits.HOME_AWAY): "The machine that has its memory is away. It starts there by itself when that is back; tell "
    "the staff if this lasts.",
    str(Waits.MOVES): "Its machine does not answer. It starts on another one, with what it remembers; tell the staff "
    "if this lasts.",
    str(Waits.MOVES_WITHOUT_MEMORY): "Its machine does not answer. It starts on another one without what it "
    "remembers, which stays there: tell the staff.",
    str(Waits.FOR_ROOM): "No machine has room for it now. It starts by itself when one has; tell the staff if this "
    "lasts.",
}
