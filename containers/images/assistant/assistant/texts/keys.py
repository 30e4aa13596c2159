"""The keys of the agent's own sentences. Every language has a sentence for each key."""

from enum import StrEnum, auto


class Text(StrEnum):
    HELLO = auto()
    HELP = auto()
    FORGOTTEN = auto()
    FORGOTTEN_BUT_REMINDERS = auto()
    WHOAMI = auto()
    MODEL = auto()
    USAGE = auto()
    STOPPED = auto()
    NOTHING_TO_STOP = auto()
    UNKNOWN_COMMAND = auto()

    PAIRED_FIRST = auto()
    PAIRED = auto()
    ALREADY_PAIRED = auto()
    DEAD_CODE = auto()
    CODE_IN_GROUP = auto()
    STRANGER = auto()
    STRANGER_UNPAIRED = auto()

    ONLY_TEXT = auto()
    CANNOT_HEAR = auto()
    HEARD_NOTHING = auto()
    CANNOT_SEE = auto()
    FILE_TOO_LARGE = auto()
    FILE_LOST = auto()
    ONE_AT_A_TIME = auto()
    TOO_OFTEN = auto()
    MESSAGE_TOO_LONG = auto()
    OUT_OF_TIME = auto()
    REMINDER = auto()
    REMINDER_LATE = auto()
    NO_WORDS = auto()
    BROKEN = auto()
    BROKEN_OFF = auto()
    INTERRUPTED = auto()
    REFUSED = auto()
    BUDGET_REACHED = auto()
    BUDGET_SHORT = auto()
    PROVIDER_KEY = auto()
    PROVIDER_CREDIT = auto()
    PROVIDER_MODEL = auto()
    PROVIDER_BUSY = auto()
    PROVIDER_DOWN = auto()
    TOOLS_LOGIN = auto()
    TOOLS_KEY = auto()

    MENU_HELP = auto()
    MENU_RESET = auto()
    MENU_STOP = auto()
    MENU_WHOAMI = auto()
    MENU_MODEL = auto()
    MENU_USAGE = auto()


COMMANDS = {
    "help": Text.MENU_HELP,
    "reset": Text.MENU_RESET,
    "stop": Text.MENU_STOP,
    "model": Text.MENU_MODEL,
    "usage": Text.MENU_USAGE,
    "whoami": Text.MENU_WHOAMI,
}
"""The commands in the client's menu, each with a short description."""
