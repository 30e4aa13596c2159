"""The contents of the volumes of the engine in memory."""

from collections.abc import Iterable, Iterator, Mapping

from containers.errors import EngineRefusedError, ImageMissingError
from containers.identity import container_name, is_ours
from tests.fakes.memory_lists import MemoryLists
from tests.fakes.states import pack_state


class MemoryStates(MemoryLists):
    def read_state(self, key: str, *, image: str, of_copy: bool = False) -> Iterator[bytes]:
        self._enter("read_state", key)
        with self._changed:
            volumes = sorted(volume for volume in self._volumes_of(key) if volume.endswith("-data"))
            if of_copy:
                volumes = [volume for volume in self._volumes_of(key) if volume.endswith("-former")] or volumes
            if not volumes or not is_ours(self.volume_labels[volumes[0]]):
                return
            content = self.states.get(volumes[0]) or pack_state({})
        yield from (content[start : start + 4096] for start in range(0, len(content), 4096))

    def knows_state(self, key: str) -> bool:
        return True

    def write_state(
        self,
        key: str,
        *,
        volume: str,
        labels: Mapping[str, str],
        image: str,
        pieces: Iterable[bytes],
        ceiling: int = 0,
    ) -> None:
        self._enter("write_state", key)
        if image not in self.images:
            raise ImageMissingError(f"The image {image} is not on the engine.")
        if volume in self.volumes:
            raise EngineRefusedError(f"The volume {volume} already exists.")
        with self._changed:
            self.volumes.add(volume)
            self.volume_labels[volume] = dict(labels)
        self._step("write_state.fill")
        content = b"".join(pieces)
        with self._changed:
            self.states[volume] = content
        self._answer("write_state")

    def keep_copy(self, key: str, *, image: str, labels: Mapping[str, str], most: int = 0) -> None:
        self._enter("keep_copy", key)
        self.require_image(image)
        with self._changed:
            self._drop_volumes({volume for volume in self._volumes_of(key) if volume.endswith("-former")})
            states = [volume for volume in self._volumes_of(key) if volume.endswith("-data")]
            if states:
                self._make_volume(f"{container_name(key)}-former", labels)
        self._step("keep_copy.fill")
        with self._changed:
            for state in states:
                self._copy_volume(state, f"{container_name(key)}-former", labels)
        self._answer("keep_copy")

    def return_copy(self, key: str, *, image: str) -> bool:
        self._enter("return_copy", key)
        self.require_image(image)
        with self._changed:
            assert self._find(key) is None, "Its container has the state."
            copies = [volume for volume in self._volumes_of(key) if volume.endswith("-former")]
            if copies:
                self._drop_volumes({volume for volume in self._volumes_of(key) if volume.endswith("-data")})
        self._step("return_copy.fill")
        with self._changed:
            for copy in copies:
                self._copy_volume(copy, f"{container_name(key)}-data", self.volume_labels[copy])
        self._answer("return_copy")
        return bool(copies)

    def drop_copy(self, key: str) -> None:
        self._enter("drop_copy", key)
        with self._changed:
            self._drop_volumes({volume for volume in self._volumes_of(key) if volume.endswith("-former")})

    def _make_volume(self, name: str, labels: Mapping[str, str]) -> None:
        self.volumes.add(name)
        self.volume_labels[name] = dict(labels)

    def _copy_volume(self, source: str, target: str, labels: Mapping[str, str]) -> None:
        self._make_volume(target, labels)
        if source in self.states:
            self.states[target] = self.states[source]
