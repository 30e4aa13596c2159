"""What an agent printed, without its credentials."""

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from datetime import datetime

from django.views.decorators.debug import sensitive_variables

from containers.agent_text import clean
from containers.errors import EngineError
from containers.get_engine import get_engine
from projects.credentials.encryption import SecretUnreadableError
from projects.credentials.redaction import Redactor
from projects.models import Project
from projects.models.columns.behind_gateway import VIRTUAL_KEY, VIRTUAL_TOKEN
from projects.models.columns.credentials import API_KEY, TELEGRAM_TOKEN
from projects.rules.settings.keyed_servers import secrets_of

TAIL = 20
"""Lines that explain a crash."""

MAX_BYTES = 1024 * 1024
KEPT_LINES = 1000
KEPT_BYTES = 128 * 1024
"""What is kept of one run: its last lines."""

LINE_LIMIT = 4096


def read_log_tail(project: Project) -> str:
    """Returns the last lines, or an empty text where they cannot be read: the crash is recorded all the same."""
    try:
        return "\n".join(read_logs(project=project, tail=TAIL))
    except (EngineError, SecretUnreadableError):
        return ""


@sensitive_variables()
def read_logs(
    *, project: Project, tail: int | None = None, since: datetime | None = None, follow: bool = False, of: str = ""
) -> Generator[str, None, None]:
    """Yields lines with their time in front, at most 1 MB. `of` is the id of its container, where the caller knows it.
    Raises `EngineError`.

    With `follow` it goes on with new lines as they are printed. It yields an empty one once the log is open, and then
    now and then while there are none. The engine gets the two seconds of a read for all that is not followed, and for
    opening what is, so that a silent one holds no thread of requests for long.
    """
    yield from _read(project.container_key, _redactor(project), tail=tail, since=since, follow=follow, of=of)


@sensitive_variables()
def read_last_lines(key: str, *, secrets: Iterable[str]) -> str:
    """As much of the end as is kept of a run, of a container that belongs to no project. Raises `EngineError`."""
    return keep_last(_read(key, Redactor(secrets), tail=KEPT_LINES))


def keep_last(lines: Iterable[str]) -> str:
    """As many of the last lines as are kept of a run."""
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
) -> Generator[str, None, None]:
    sent = 0
    lines = _open_logs(key, tail=tail, since=since, follow=follow, of=of)
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


def _open_logs(key: str, *, tail: int | None, since: datetime | None, follow: bool, of: str) -> Iterator[bytes]:
    engine = get_engine()
    with engine.read_deadline():
        if follow:
            return engine.logs(key, tail=tail, since=since, follow=True, of=of)
        # All at once: the deadline is the thread's, and must not go on while somebody else reads the lines.
        lines = engine.logs(key, tail=tail, since=since, of=of)
        return iter(list(_first_bytes(lines)))


def _first_bytes(lines: Iterator[bytes]) -> Iterator[bytes]:
    """As many lines as are shown at most, and one more."""
    size = 0
    try:
        for line in lines:
            yield line
            size += min(len(line), LINE_LIMIT)
            if size > MAX_BYTES:
                return
    finally:
        _close(lines)


def _close(lines: Iterator[bytes]) -> None:
    """At once, because it holds a connection to the engine."""
    if isinstance(lines, Generator):
        lines.close()


@sensitive_variables()
def redact_again(project: Project, lines: Iterable[str]) -> Iterator[str]:
    """Lines that were kept, without the credentials that the project has now. Raises `SecretUnreadableError`."""
    redactor = _redactor(project)
    return (_redact(line, redactor) for line in lines)


@sensitive_variables()
def _redactor(project: Project) -> Redactor:
    """Of the real credentials and of the virtual ones: an agent may have either, since its start or from before."""
    real = [project.decrypt_credential(field) for field in (TELEGRAM_TOKEN, API_KEY)]
    virtual = [project.decrypt_virtual(field) for field in (VIRTUAL_TOKEN, VIRTUAL_KEY)]
    servers = project.decrypt_servers()
    of_servers = [secret for credential in servers.credentials.values() for secret in secrets_of(credential)]
    return Redactor([*real, *virtual, *of_servers, servers.virtual, project.decrypt_pairing_secret()])


def _show(line: bytes, redactor: Redactor) -> str:
    """The line as people may see it. Only what stands behind the time is the agent's."""
    if not line:
        return ""
    return _redact(line.decode("utf-8", "replace").rstrip("\r\n"), redactor)


def _redact(line: str, redactor: Redactor) -> str:
    stamp, _, printed = line.partition(" ")
    # Cut twice: a credential that the first cut goes through lies beyond the second.
    return f"{stamp} {redactor.redact(clean(printed)[: 2 * LINE_LIMIT])}"[:LINE_LIMIT]
