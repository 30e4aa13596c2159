"""The contract between Berth and the image of an agent: everything that both sides must spell the same way.

Standard library only: the build adds this very file to every image, where it is the module `agent_contract`.
"""

import base64
import hmac
import re
from enum import IntEnum, StrEnum
from typing import NamedTuple

CONTRACT_VERSION = 1
"""Stands in the image's label `berth.agent.contract` and as `v` in every report."""

AGENT_USER = 10001
"""The number of the user, and of its group, as whom an image runs by itself.

Berth runs each agent as a user of its own, with another number that no image knows: everything in an image must be
readable for anybody, and only `DATA_PATH`, `RUN_PATH` and /tmp are there to write to.
"""

DATA_PATH = "/data"
"""Where the agent keeps its state. It outlives the container."""

SECRETS_PATH = "/run/secrets"
"""Where the agent finds its credentials: one file for each `SecretFile`, which it can read and not change."""

RUN_PATH = "/run/agent"
"""Where the agent may write what must not outlive the container, such as its `STATUS_FILE`."""

STATUS_FILE = "status.json"

STATUS_MARK = "AGENT-STATUS "
"""Begins the log line with which an agent reports a change of its state; a JSON object follows."""

LONGEST_REPORT = 4096
"""Bytes of a report. An engine keeps no more of what a health check prints."""

LONGEST_CODE = 40
LONGEST_DETAIL = 300
"""Characters of a report's `code` and `detail`."""

HEALTHY_FOR = 90
"""Seconds for which an agent is healthy after Telegram has answered it."""


class SecretFile(StrEnum):
    TELEGRAM_BOT_TOKEN = "telegram_bot_token"  # noqa: S105 - the name of a file
    AGENT_API_KEY = "agent_api_key"
    PAIRING_SECRET = "pairing_secret"  # noqa: S105 - the name of a file; only where the agent is to pair people


class Variable(StrEnum):
    """The environment of an agent. A variable without a value is not set.

    `AGENT_SETTINGS` holds all settings of the project as one JSON object, those of the other variables too.
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
    """The `code` of a report: what is wrong. Berth has a sentence for the owner for each of them."""

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
"""What an exit may stand for. The agent's last report says which one; without a report it is the first."""

FATAL_EXIT_CODES = frozenset(PROBLEMS_OF_EXIT) - {ExitCode.TELEGRAM_UNREACHABLE}
"""Exits after which another start cannot help: a credential, the model or the configuration is wrong."""


class PairingKind(StrEnum):
    """What a pairing code does for the person who sends it first."""

    OWNER = "o"
    """Pairs them, while nobody is paired."""
    ADD = "a"
    """Pairs them as well."""
    REPLACE = "r"
    """Pairs them in the place of everybody, and voids all codes with a lower number."""


class PairingCode(NamedTuple):
    """Counts once, before `expires` (Unix time in seconds). Each kind has the numbers of the project for itself."""

    kind: PairingKind
    number: int
    expires: int

    def sign(self, secret: str) -> str:
        """What `https://t.me/<bot>?start=` takes: at most 64 characters of A-Z, a-z, 0-9, _ and -."""
        facts = f"{self.kind}{self.number}-{self.expires}"
        digest = hmac.digest(secret.encode(), f"berth pairing {facts}".encode(), "sha256")
        return f"{facts}-{base64.urlsafe_b64encode(digest[:16]).decode().rstrip('=')}"


def read_pairing_code(text: str, secret: str) -> PairingCode | None:
    """The code that was signed with this secret, in exactly these characters. None for anything else."""
    found = re.fullmatch(r"([oar])([0-9]{1,10})-([0-9]{1,11})-[A-Za-z0-9_-]{22}", text)
    if found is None:
        return None
    code = PairingCode(PairingKind(found[1]), int(found[2]), int(found[3]))
    return code if hmac.compare_digest(code.sign(secret), text) else None


REDACTED = "[redacted]"

# Strangers choose what is searched, so the time is proportional to the length of the text: each run of characters is
# looked through from its beginning only, and never again from a later character.
_OTHERS = r"""
      (?<!\d)\d{6,}+(?::|%3[Aa])[\w*-]{20,}                    # a Telegram bot token, alone or in a URL
    | berth_[0-9A-Za-z]{16,}[\w*-]*                            # an API key of Berth
    | (?<![a-z])sk-[\w*-]{12,} | \b(?i:sk)-[\w*-]{6,}          # a provider's key, or the part that its errors show
"""
_JWT = r"""
    (?<![\w-]) (?=[\w-]++\.[\w-]++\.[\w*-])                   # only where the dots are
    (?P<before>[\w-]*?) eyJ[\w-]{8,}\.[\w-]+\.[\w*-]+
"""

# The first two alternatives end only at a blank, a quote or an @, and so take in any of the others. The last group
# takes in what stands directly behind a credential: a second one that begins inside the first would otherwise remain.
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
    """The text without anything that looks like a credential. The last line of defence, not the first."""
    return _CREDENTIALS.sub(_redact, text)


def _redact(found: re.Match[str]) -> str:
    before = found["before"] or ""
    # Another credential may begin in front of the JWT.
    other = _OTHER.search(found[0]) if before else None
    return before[: other.start() if other else None] + REDACTED
