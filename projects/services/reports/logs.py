"""Reads agents' logs, without credentials."""

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from datetime import datetime

from django.views.decorators.debug import sensitive_variables

from containers.agent_text import clean
from containers.errors import EngineError, EngineUnavailableError
from containers.get_engine import get_engine
from projects.credentials.encryption import SecretUnreadableError
from projects.credentials.redaction import Redactor
from projects.models import Project
from projects.models.columns.credentials import API_KEY, TELEGRAM_TOKEN
from projects.models.columns.gateway import VIRTUAL_KEY, VIRTUAL_TOKEN
from projects.rules.settings.keyed_servers import secrets_of

TAIL = 20
"""The number of lines that explain a crash."""

MAX_BYTES = 1024 * 1024
KEPT_LINES = 1000
KEPT_BYTES = 128 * 1024
"""The maximum that is kept of the last lines of a run."""

LINE_LIMIT = 4096

CUT_OFF = b"[The engine did not send the rest of the log in time. Read it again, or fewer of its lines.]"
"""Stands in place of the rest, with the time of the last line, from which a client may go on."""


def read_log_tail(project: Project) -> str:
    """Returns the last lines, or an empty text if they cannot be read, because the crash must be recorded anyway."""
    try:
        return "\n".join(read_logs(project=project, tail=TAIL))
    except (EngineError, SecretUnreadableError):
        return ""


@sensitive_variables()
def read_logs(
    *, project: Project, tail: int | None = None, since: datetime | None = None, follow: bool = False, of: str = ""
) -> Generator[str, None, None]:
    """Yields lines that begin with their time, at most 1 MB. `of` is the id of the container if the caller knows it.

    With `follow`, it continues with new lines as they are printed. It yields an empty line once the log is open, and
    from time to time while there are no new lines. Reading, or opening a followed log, has the two seconds of a read,
    so that a silent engine does not block a thread for long. Raises `EngineError` if no line comes.
    """
    yield from _read(project.container_key, _redactor(project), tail=tail, since=since, follow=follow, of=of)


@sensitive_variables()
def read_last_lines(key: str, *, secrets: Iterable[str]) -> str:
    """Returns the last lines of a container without a project, as many as are kept of a run.

    Raises `EngineError`, also if only some of them come in time.
    """
    return keep_last(_read(key, Redactor(secrets), tail=KEPT_LINES, whole=True))


def keep_last(lines: Iterable[str]) -> str:
    """Returns the last lines, as many as are kept of a run."""
    kept: deque[str] = deque()
    size = 0
    for line in reversed(deque(lines, maxlen=KEPT_LINES)):
        size += len(line.encode()) + 1
        if size > KEPT_BYTES:
            break
        kept.appendleft(line)
    return "\n".join(kept)


@sensitive_variables()
def _read(
    key: str,
    redactor: Redactor,
    *,
    tail: int | None,
    since: datetime | None = None,
    follow: bool = False,
    of: str = "",
    whole: bool = False,
) -> Generator[str, None, None]:
    sent = 0
    lines = _open_logs(key, tail=tail, since=since, follow=follow, of=of, whole=whole)
    try:
        if follow:
            yield ""
        for line in lines:
            text = _show(line, redactor)
            sent += len(text.encode()) + 1
            if sent > MAX_BYTES:
                return
            yield text
    finally:
        _close(lines)


def _open_logs(
    key: str, *, tail: int | None, since: datetime | None, follow: bool, of: str, whole: bool
) -> Iterator[bytes]:
    engine = get_engine()
    with engine.read_deadline():
        if follow:
            return engine.logs(key, tail=tail, since=since, follow=True, of=of)
        # Read everything now: the deadline is the thread's, and must not run on while the caller uses the lines.
        lines = engine.logs(key, tail=tail, since=since, of=of)
        return iter(list(_first_bytes(lines, whole=whole)))


def _first_bytes(lines: Iterator[bytes], *, whole: bool) -> Iterator[bytes]:
    """Yields the lines that are shown at most, and one more. Unless it must be the `whole`, it ends early with
    `CUT_OFF` if the engine takes too long.

    An agent that prints as fast as it can keeps the engine so busy that the maximum may never come in time.
    """
    size, stamp = 0, b""
    try:
        for line in lines:
            yield line
            stamp = line.partition(b" ")[0]
            size += min(len(line), LINE_LIMIT)
            if size > MAX_BYTES:
                return
    except EngineUnavailableError:
        if whole or not stamp:
            raise
        yield stamp + b" " + CUT_OFF
    finally:
        _close(lines)


def _close(lines: Iterator[bytes]) -> None:
    """Closes the generator at once, because it holds a connection to the engine."""
    if isinstance(lines, Generator):
        lines.close()


@sensitive_variables()
def redact_again(project: Project, lines: Iterable[str]) -> Iterator[str]:
    """Redacts the project's present credentials from kept lines. Raises `SecretUnreadableError`."""
    redactor = _redactor(project)
    return (_redact(line, redactor) for line in lines)


@sensitive_variables()
def _redactor(project: Project) -> Redactor:
    """Returns a redactor for the real and the virtual credentials, because a container may have either."""
    real = [project.decrypt_credential(field) for field in (TELEGRAM_TOKEN, API_KEY)]
    virtual = [project.decrypt_virtual(field) for field in (VIRTUAL_TOKEN, VIRTUAL_KEY)]
    servers = project.decrypt_servers()
    of_servers = [secret for credential in servers.credentials.values() for secret in secrets_of(credential)]
    return Redactor([*real, *virtual, *of_servers, servers.virtual, project.decrypt_pairing_secret()])


def _show(line: bytes, redactor: Redactor) -> str:
    """Returns the line for people. Only the part after the time comes from the agent."""
    if not line:
        return ""
    return _redact(line.decode("utf-8", "replace").rstrip("\r\n"), redactor)


def _redact(line: str, redactor: Redactor) -> str:
    stamp, _, printed = line.partition(" ")
    # Cut twice: a credential that the first cut splits lies beyond the second cut.
    return f"{stamp} {redactor.redact(clean(printed)[: 2 * LINE_LIMIT])}"[:LINE_LIMIT]
