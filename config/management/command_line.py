"""Runs a command of `manage.py`, and explains in a sentence why it cannot go on."""

import errno
import gc
import os
import re
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand, CommandError
from django.db.utils import Error as DatabaseError

from config.environment.ownership import LIMITS, refuse_file
from config.management import interruption
from config.management.environment import NO_OUTPUT, choose_settings, open_closed_streams
from config.version import read_version
from containers.errors import EngineError

_REFUSED = {
    "[\ud800-\udfff]": "An argument is not valid UTF-8. Write it in UTF-8.",  # how Python reads such bytes
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f]": "An argument contains control characters. Write it without them.",
    "^--[^=]+=--$": "An option has the value --. Give it another value.",
}
"""Arguments that no database can store, that a terminal would obey in our answers, or that argparse misreads."""

UNREAD = 141
"""As shells tell that a program was ended by SIGPIPE: nobody reads its output any longer."""
NO_INPUT = "The command asks for something, but its standard input has ended. Run it in a terminal."

SERVERS = {"serve", "watch"}
"""Commands with a log."""

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


class CommandLine(ManagementUtility):
    """Refuses commands that need the database of this version and this instance, and do not make it so, where it is
    another one's.
    """

    def fetch_command(self, subcommand: str) -> BaseCommand:
        command = super().fetch_command(subcommand)
        gc.freeze()
        gc.enable()
        interruption.listen()
        if subcommand not in SERVERS:
            from config.database.explanations import take_notes  # noqa: PLC0415 - Django is set up by now

            take_notes()
        is_run = self.argv[1:2] == [subcommand] and not {"-h", "--help", "--prepare"} & set(self.argv[2:])
        if is_run and getattr(command, "requires_current_database", False):
            # Imported here: it needs the settings, which Django has read by now.
            from config.database.versions import require_database_of_this_version  # noqa: PLC0415 - Django is set up by now
            from config.management.start_checks import require_own_instance  # noqa: PLC0415 - the same

            require_database_of_this_version()
            require_own_instance()
        return command


def run() -> int:
    """Returns 2 after one sentence about bad arguments or configuration, 1 after one about the database.

    Ctrl-C ends the process with 130, also after one sentence, and other signals as themselves.
    """
    has_output = open_closed_streams()
    if refusal := _refuse_arguments() if has_output else NO_OUTPUT:
        sys.stderr.write(f"{refusal}\n")
        return 2
    if sys.argv[1:] in (["version"], ["--version"]):  # Django answers with its own
        sys.stdout.write(f"Berth {read_version()}\n")
        return 0
    gc.disable()  # until everything is imported, which makes no garbage: looking for it takes an eighth of a start
    choose_settings()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: a terminal's encoding may lack a character
    try:
        return _execute()
    except KeyboardInterrupt as error:
        interruption.end_interrupted(error)
    except BrokenPipeError:
        return _drop_output(UNREAD)
    finally:
        interruption.stop_listening()


def _refuse_arguments() -> str:
    """Returns why an argument cannot be used; empty if all can."""
    wrong = (
        sentence for pattern, sentence in _REFUSED.items() if any(re.search(pattern, argument) for argument in sys.argv)
    )
    return next(wrong, "")


def _execute() -> int:
    try:
        CommandLine(sys.argv).execute()
        sys.stdout.flush()
    except (ImproperlyConfigured, CommandError) as error:
        sys.stderr.write(f"{error}\n")
        return 2 if isinstance(error, ImproperlyConfigured) else error.returncode
    except (EngineError, EOFError) as error:
        if "--traceback" in sys.argv:
            raise
        sys.stderr.write(f"{NO_INPUT if isinstance(error, EOFError) else error}\n")
        return 1
    except DatabaseError as error:
        from config.database.explanations import explain_fault  # noqa: PLC0415 - it needs the settings

        explained = "" if "--traceback" in sys.argv else explain_fault(error)
        if not explained:
            raise
        sys.stderr.write(f"{explained}\n")
        return 1
    except OSError as error:
        explained = "" if "--traceback" in sys.argv else _explain_file(error)
        if not explained:
            raise
        sys.stderr.write(f"{explained}\n")
        return _drop_output(1)
    return 0


def _explain_file(error: OSError) -> str:
    """Returns what is wrong with a file of the data directory, any disk or a limit; empty for another error."""
    from django.conf import settings  # noqa: PLC0415 - they may be what is wrong

    if error.errno in LIMITS:
        return f"{error.filename or 'A file'} cannot be used ({error.strerror}). {LIMITS[error.errno]}"
    if not isinstance(error.filename, str):
        return f"The output cannot be written: {error.strerror}." if error.errno in _NO_ROOM else ""
    is_ours = Path(error.filename).is_relative_to(settings.BERTH_DATA_DIR)
    return str(refuse_file(Path(error.filename), error)) if is_ours or error.errno in _NO_ROOM else ""


def _drop_output(code: int) -> int:
    """Returns the code. What could not be written is not tried again when the interpreter ends."""
    with suppress(OSError):  # there may be no room for a further descriptor
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    return code
