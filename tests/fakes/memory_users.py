"""The user numbers of the agents on the engine in memory."""

from collections.abc import Collection, Iterator

from containers.identity import is_ours
from containers.vocabulary import USER_LABEL
from tests.fakes.memory_names import MemoryNames


class MemoryUsers(MemoryNames):
    def highest_user(self, *, block: Collection[int] = ()) -> int | None:
        self._enter("highest_user")
        with self._changed:
            return max(self._users(block), default=None)

    def has_user(self, user: int) -> bool:
        self._enter("has_user")
        with self._changed:
            return user in self._users([user])

    def _users(self, block: Collection[int] = ()) -> Iterator[int]:
        """Returns the user numbers that labels name, or older containers without such labels."""
        for each in self.containers.values():
            if USER_LABEL in each.labels and (each.is_ours or int(each.labels[USER_LABEL]) in block):
                yield int(each.labels[USER_LABEL])
            elif each.is_ours and each.spec:
                yield each.spec.user
        for labels in (self.volume_labels.get(volume, {}) for volume in self.volumes):
            if USER_LABEL in labels and (is_ours(labels) or int(labels[USER_LABEL]) in block):
                yield int(labels[USER_LABEL])
