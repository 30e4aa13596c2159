"""What can be wrong with the agent, and what ends it."""

from dataclasses import dataclass

from agent_contract import ExitCode, ProblemCode


@dataclass(frozen=True)
class Problem:
    """Something that is wrong. `detail` is for the owner's dashboard and holds no text of others."""

    code: ProblemCode
    detail: str


class FatalError(Exception):
    """Ends the agent, because trying again cannot help."""

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
