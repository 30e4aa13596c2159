"""The contract between Berth and an agent's image: everything that both sides must spell the same way.

Standard library only, because the build adds this very file to every image as the module `agent_contract`.
"""

import base64
import hmac
import re
from enum import IntEnum, StrEnum
from typing import NamedTuple

CONTRACT_VERSION = 1
"""The value of the image's label `berth.agent.contract`, and `v` in every report."""

AGENT_USER = 10001
"""The user and group number of an image that runs outside Berth.

Berth runs each agent as a user of its own, with a number that no image knows. So everything in an image must be
readable for all users, and only `DATA_PATH`, `RUN_PATH` and /tmp can be written to."""

DATA_PATH = "/data"
"""The directory of the agent's state. It outlives the container."""

SECRETS_PATH = "/run/secrets"
"""The directory of the agent's credentials: one file for each `SecretFile`, which the agent can read but not change."""

RUN_PATH = "/run/agent"
"""The directory for files that must not outlive the container, such as `STATUS_FILE`."""

STATUS_FILE = "status.json"

STATUS_MARK = "AGENT-STATUS "
"""Starts the log line by which an agent reports a change of its state; a JSON object follows."""

LONGEST_REPORT = 4096
"""The most bytes of a report. An engine keeps no more of a health check's output."""

LONGEST_CODE = 40
LONGEST_DETAIL = 300
"""The most characters of a report's `code` and `detail`."""

HEALTHY_FOR = 90
"""Seconds for which an agent is healthy after an answer from Telegram."""


class SecretFile(StrEnum):
    TELEGRAM_BOT_TOKEN = "telegram_bot_token"  # noqa: S105 - the name of a file
    AGENT_API_KEY = "agent_api_key"
    PAIRING_SECRET = "pairing_secret"  # noqa: S105 - a file name; exists only if the agent pairs people


class Variable(StrEnum):
    """The environment of an agent. A variable without a value is not set.

    `AGENT_SETTINGS` holds all settings of the project as one JSON object, including those with variables of their own.
    """

    TELEGRAM_API_BASE = "TELEGRAM_API_BASE"
    AGENT_API_BASE = "AGENT_API_BASE"
    AGENT_PROVIDER = "AGENT_PROVIDER"
    AGENT_MODEL = "AGENT_MODEL"
    AGENT_INSTRUCTIONS = "AGENT_INSTRUCTIONS"
    AGENT_ALLOWED_USERS = "AGENT_ALLOWED_USERS"
    AGENT_SETTINGS = "AGENT_SETTINGS"


class AgentState(StrEnum):
    """The `state` of a report."""

    STARTING = "starting"
    RUNNING = "running"
    DEGRADED = "degraded"
    FAILED = "failed"
    STOPPED = "stopped"


class ProblemCode(StrEnum):
    """The `code` of a report, which names the problem. Berth has a sentence for the owner for each code."""

    TELEGRAM_TOKEN = "telegram_token"  # noqa: S105 - a code, not a token
    TELEGRAM_CONFLICT = "telegram_conflict"
    TELEGRAM_UNREACHABLE = "telegram_unreachable"
    PROVIDER_KEY = "provider_key"
    PROVIDER_CREDIT = "provider_credit"
    PROVIDER_MODEL = "provider_model"
    PROVIDER_BUSY = "provider_busy"
    PROVIDER_DOWN = "provider_down"
    TOOLS_REFUSED = "tools_refused"
    MISSING_SECRET = "missing_secret"  # noqa: S105 - a code, not a secret
    BAD_CONFIGURATION = "bad_configuration"
    MEMORY_UNREADABLE = "memory_unreadable"
    CRASH = "crash"


class ExitCode(IntEnum):
    STOPPED = 0
    CRASH = 1
    TELEGRAM_TOKEN = 20
    TELEGRAM_CONFLICT = 21
    PROVIDER_KEY = 30
    PROVIDER_CREDIT = 31
    PROVIDER_MODEL = 32
    CONFIGURATION = 40
    TELEGRAM_UNREACHABLE = 75


PROBLEMS_OF_EXIT = {
    ExitCode.TELEGRAM_TOKEN: (ProblemCode.TELEGRAM_TOKEN,),
    ExitCode.TELEGRAM_CONFLICT: (ProblemCode.TELEGRAM_CONFLICT,),
    ExitCode.PROVIDER_KEY: (ProblemCode.PROVIDER_KEY,),
    ExitCode.PROVIDER_CREDIT: (ProblemCode.PROVIDER_CREDIT,),
    ExitCode.PROVIDER_MODEL: (ProblemCode.PROVIDER_MODEL,),
    ExitCode.CONFIGURATION: (
        ProblemCode.MISSING_SECRET,
        ProblemCode.BAD_CONFIGURATION,
        ProblemCode.MEMORY_UNREADABLE,
    ),
    ExitCode.TELEGRAM_UNREACHABLE: (ProblemCode.TELEGRAM_UNREACHABLE,),
}
"""The problems that an exit code can stand for. The agent's last report names one; without a report it is the first."""

FATAL_EXIT_CODES = frozenset(PROBLEMS_OF_EXIT) - {ExitCode.TELEGRAM_UNREACHABLE}
"""Exits after which a restart cannot help, because a credential, the model or the configuration is wrong."""


class PairingKind(StrEnum):
    """The effect of a pairing code on the first person who sends it."""

    OWNER = "o"
    """Pairs them if nobody is paired yet."""
    ADD = "a"
    """Pairs them in addition to others."""
    REPLACE = "r"
    """Pairs them instead of all others, and voids all codes with a lower number."""


class PairingCode(NamedTuple):
    """Valid once, before `expires` (Unix time in seconds). Each kind has its own numbers within a project."""

    kind: PairingKind
    number: int
    expires: int

    def sign(self, secret: str) -> str:
        """Returns the value for `https://t.me/<bot>?start=`: at most 64 characters of A-Z, a-z, 0-9, _ and -."""
        facts = f"{self.kind}{self.number}-{self.expires}"
        digest = hmac.digest(secret.encode(), f"berth pairing {facts}".encode(), "sha256")
        return f"{facts}-{base64.urlsafe_b64encode(digest[:16]).decode().rstrip('=')}"


def read_pairing_code(text: str, secret: str) -> PairingCode | None:
    """Returns the code if this secret has signed exactly these characters, or None."""
    found = re.fullmatch(r"([oar])([0-9]{1,10})-([0-9]{1,11})-[A-Za-z0-9_-]{22}", text)
    if found is None:
        return None
    code = PairingCode(PairingKind(found[1]), int(found[2]), int(found[3]))
    return code if hmac.compare_digest(code.sign(secret), text) else None


REDACTED = "[redacted]"

# Strangers choose the text, so the time is proportional to its length: each run of characters is searched only once,
# from its beginning.
_OTHERS = r"""
      (?<!\d)\d{6,}+(?::|%3[Aa])[\w*-]{20,}                    # a Telegram bot token, alone or in a URL
    | berth_[0-9A-Za-z]{16,}[\w*-]*                            # an API key of Berth
    | (?<![a-z])sk-[\w*-]{12,} | \b(?i:sk)-[\w*-]{6,}          # a provider's key, or the part that its errors show
"""
_JWT = r"""
    (?<![\w-]) (?=[\w-]++\.[\w-]++\.[\w*-])                   # only if it has two dots
    (?P<before>[\w-]*?) eyJ[\w-]{8,}\.[\w-]+\.[\w*-]+
"""

# The first two alternatives end only at a blank, a quote or an @, and so include any of the others. The last group
# includes text directly behind a credential; otherwise a second credential that begins inside the first would remain.
_CREDENTIALS = re.compile(
    rf"""
      (?<=://)[^/\s:@]*:[^/\s@]+(?=@)                           # user and password in a URL
    | (?i:(?<=bearer\ ))(?!realm|error)[^\s"',]{{8,}}           # anything that was sent as a bearer token
    | (?: {_OTHERS} | {_JWT} )
      (?: (?::|%3[Aa]|\.)[\w*-]{{20,}} | \.eyJ[\w*-]+(?:\.[\w*-]+)? )*
    """,
    re.VERBOSE,
)
_OTHER = re.compile(_OTHERS, re.VERBOSE)


def redact_credentials(text: str) -> str:
    """Replaces everything that looks like a credential. This is the last line of defence, not the first."""
    return _CREDENTIALS.sub(_redact, text)


def _redact(found: re.Match[str]) -> str:
    before = found["before"] or ""
    # Another credential may begin before the JWT.
    other = _OTHER.search(found[0]) if before else None
    return before[: other.start() if other else None] + REDACTED
