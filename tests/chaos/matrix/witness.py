"""Observes what runs on the engine of an installation, past everything that is broken."""

import threading
import time
from bisect import insort
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

import docker
import requests
import urllib3

from tests.chaos.docker_instance import DockerInstance

LOOK_EVERY = 0.4
PATIENCE = 120.0


@dataclass(frozen=True)
class Sighting:
    """The projects whose container ran or was paused at a moment of the monotonic clock."""

    at: float
    running: frozenset[str]
    paused: frozenset[str] = frozenset()
    only: str | None = None
    """The project about which it says something; None if it does about all of them."""


class Witness:
    """Asks the engine itself, past everything that is broken, what runs, and hears what ends between two looks."""

    def __init__(self, instance: DockerInstance) -> None:
        self._instance = instance
        self._ended = threading.Event()
        self.sightings: list[Sighting] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._look, daemon=True)
        for each in (self._thread, threading.Thread(target=self._listen, daemon=True)):
            each.start()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_EVERY):
            began = time.monotonic()
            with suppress(docker.errors.APIError, requests.RequestException):
                states = self._instance.states()
                # An engine that was frozen meanwhile reports the state at some moment of that time.
                if time.monotonic() - began < 2 * LOOK_EVERY:
                    self._add(Sighting(began, _those(states, "running"), _those(states, "paused")))

    def _listen(self) -> None:
        """Notes each end. What a broken stream loses, a look may still see.

        An end says nothing about the other projects: while the engine holds back the answers to looks, as it does for
        a container whose shim is stopped, they may have started since the last one.
        """
        while not self._ended.wait(LOOK_EVERY):
            with suppress(docker.errors.APIError, requests.RequestException, urllib3.exceptions.HTTPError, ValueError):
                for project in self._instance.ends():
                    self._add(Sighting(time.monotonic(), frozenset(), only=project))

    def _add(self, sighting: Sighting) -> None:
        with self._lock:
            insort(self.sightings, sighting, key=lambda each: each.at)

    def sees(self, running: Collection[str]) -> bool:
        """Whether all of these ran at the last sighting."""
        return bool(self.sightings) and self.sightings[-1].running.issuperset(running)

    def close(self) -> None:
        self._ended.set()
        self._thread.join(PATIENCE)


def _those(states: Mapping[str, str], wanted: str) -> frozenset[str]:
    return frozenset(project for project, state in states.items() if state == wanted)
