"""Notes every fault at the point where errors of the driver become Django's."""

from types import TracebackType

from django.db.utils import DatabaseErrorWrapper, Error
from django.utils.functional import cached_property

from config.database.faults import find_fault
from config.database.limits import note_fault


class NotingErrors(DatabaseErrorWrapper):
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            super().__exit__(kind, error, traceback)
        except Error as translated:
            if find_fault(translated) is not None:
                note_fault()
            raise


class NotesFaults:
    """Mixin for a database wrapper."""

    @cached_property
    def wrap_database_errors(self) -> NotingErrors:
        return NotingErrors(self)
