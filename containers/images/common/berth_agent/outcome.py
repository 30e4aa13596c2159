"""Problems of an agent, and the errors that end it."""

from dataclasses import dataclass

from agent_contract import ExitCode, ProblemCode


@dataclass(frozen=True)
class Problem:
    """A problem. `detail` is for the owner's dashboard and contains no text from outside."""

    code: ProblemCode
    detail: str


class FatalError(Exception):
    """Ends the agent because retrying cannot help."""

    def __init__(self, exit_code: ExitCode, code: ProblemCode, detail: str) -> None:
        super().__init__(detail)
        self.exit_code = exit_code
        self.code = code
        self.detail = detail


FATAL_AT_START = {
    ProblemCode.PROVIDER_KEY: ExitCode.PROVIDER_KEY,
    ProblemCode.PROVIDER_CREDIT: ExitCode.PROVIDER_CREDIT,
    ProblemCode.PROVIDER_MODEL: ExitCode.PROVIDER_MODEL,
}
