"""How the agent ends and what can be wrong with it: exit codes and problem codes of the agent contract."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Code(StrEnum):
    """What is wrong. The service turns these into words of its own, so they are part of the contract."""

    TELEGRAM_TOKEN = "telegram_token"  # noqa: S105 - a code, not a token
    TELEGRAM_CONFLICT = "telegram_conflict"
    TELEGRAM_UNREACHABLE = "telegram_unreachable"
    PROVIDER_KEY = "provider_key"
    PROVIDER_CREDIT = "provider_credit"
    PROVIDER_MODEL = "provider_model"
    PROVIDER_BUSY = "provider_busy"
    PROVIDER_DOWN = "provider_down"
    MISSING_SECRET = "missing_secret"  # noqa: S105 - a code, not a secret
    BAD_CONFIGURATION = "bad_configuration"
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


@dataclass(frozen=True)
class Problem:
    """Something that is wrong but can pass. `detail` is for the owner's dashboard and carries no foreign text."""

    code: Code
    detail: str


class FatalError(Exception):
    """What ends the agent, because trying on cannot help."""

    def __init__(self, exit_code: ExitCode, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.exit_code = exit_code
        self.code = code
        self.detail = detail


FATAL_AT_START = {
    Code.PROVIDER_KEY: ExitCode.PROVIDER_KEY,
    Code.PROVIDER_CREDIT: ExitCode.PROVIDER_CREDIT,
    Code.PROVIDER_MODEL: ExitCode.PROVIDER_MODEL,
}
