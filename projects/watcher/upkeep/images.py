"""Records facts about the engine's machine and the types' images, in a thread of its own: the engine may be slow."""

import logging
import threading
import time
from collections.abc import Callable

from django.db import DatabaseError, close_old_connections, connections

from containers.errors import EngineError
from projects.services.images.bases import note_images, remove_unused_images
from projects.services.limits.capacity import learn_host_memory

log = logging.getLogger(__name__)

FIRST, EVERY = 5.0, 60.0
"""Seconds until the first check, and from the end of one to the next."""

REMOVE_EVERY = 3600.0
"""Seconds between two removals of unused images, and until the first."""

END_WITHIN = 2.0
"""Seconds that a check under way gets when the watcher ends. It can be abandoned safely."""


class Images:
    """The thread that records the facts while `leads` is true."""

    def __init__(self, leads: Callable[[], bool]) -> None:
        self._leads = leads
        self._stopped = threading.Event()
        self._remove_again_at = time.monotonic() + REMOVE_EVERY
        self._thread = threading.Thread(target=self._run, name="images", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(END_WITHIN)

    def _run(self) -> None:
        pause = FIRST
        while not self._stopped.wait(pause):
            pause = EVERY
            self._try()

    def _remove_unused(self) -> None:
        if time.monotonic() >= self._remove_again_at:
            self._remove_again_at = time.monotonic() + REMOVE_EVERY
            if removed := remove_unused_images():
                log.info("Removed %d images that no project uses.", removed)

    def _try(self) -> None:
        try:
            close_old_connections()
            if self._leads():
                note_images()
                self._remove_unused()
                learn_host_memory(at_once=True)  # nodes of a Swarm come and go
        except (EngineError, DatabaseError) as error:
            log.info("The images of agent types could not be recorded: %s", error)
        except Exception:
            log.exception("Recording the images of agent types failed; the next attempt is in a minute.")
        finally:
            connections.close_all()
