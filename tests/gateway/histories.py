"""Histories of nodes, words, clocks and leaders, in which one gateway at the most may let a bot poll.

A history: nodes whose gateways keep leases as the real ones do, on clocks of their own that run a little wrong, one
row, and leaders of which none knows of the other. Each word takes its time, comes twice, late or never, and so do
answers.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count

from gateway.entries.leases import Lease as Granted
from gateway.entries.leases import Leases

from containers.gateway.leases import GatewayClock
from projects.services.gateway.entry_moves import WAIT_FOR, Step, next_step

NODES = "abc"
LASTS = 600.0
"""Seconds of a history."""
Waits = Iterator[float]


@dataclass(frozen=True)
class Row:
    holder: str = ""
    leaves: bool = False
    version: int = 1


@dataclass
class Node:
    """The node's gateway: an entry in a version, void or not, and the leases."""

    world: "World"
    offset: float
    rate: float
    leases: Leases = field(init=False)
    version: int = 0
    is_void: bool = True
    cut_until: float = 0.0

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.leases = Leases(lambda: self.offset + self.world.now * self.rate)

    @property
    def counts(self) -> bool:
        return not self.is_void and self.leases.holds("p")

    def apply(self, version: int, *, void: bool, lease: Granted | None) -> bool:
        if version > self.version or (void and version == self.version):
            self.version, self.is_void = version, void
            if void:
                self.leases.drop("p")
        if lease is not None:
            self.renew(version, lease)
        return void and self.version == version

    def renew(self, version: int, lease: Granted) -> None:
        if version == self.version and not self.is_void:
            self.leases.grant("p", lease)


class World:
    def __init__(self, seed: int, *, waits_for: float = WAIT_FOR) -> None:
        self.chance = random.Random(seed)
        self.now = 0.0
        self.row = Row()
        self.waits_for = waits_for
        self.runs_on = "a"
        self.nodes = {
            name: Node(self, self.chance.uniform(0, 1e6), 1 + self.chance.uniform(-1e-3, 1e-3)) for name in NODES
        }
        self.counted = 0
        self._number = count()
        self._due: list[tuple[float, int, Waits]] = []

    def begin(self, work: Waits, after: float = 0.0) -> None:
        heappush(self._due, (self.now + after, next(self._number), work))

    def run(self) -> None:
        while self._due and self._due[0][0] < LASTS:
            self.now, _, work = heappop(self._due)
            wait = next(work, None)
            if wait is not None:
                self.begin(work, wait)
            counting = [name for name, node in self.nodes.items() if node.counts]
            assert len(counting) <= 1, f"{counting} at {self.now:.1f}"
            self.counted += bool(counting)

    def delay(self) -> float:
        """Returns how long a message takes in one direction: mostly a short time, sometimes as long as a kernel
        retries.
        """
        return self.chance.choice([0.0, 0.0, 0.1, 0.1, 1.0, self.chance.uniform(0, 120)])

    def deliver(self, node: Node, version: int, *, void: bool, lease: Granted | None, answers: list[bool]) -> Waits:
        """A message on its way. A cut network delays it, and may lose it or its answer."""
        yield self.delay()
        while self.now < node.cut_until:
            if self.chance.random() < 0.5:
                return
            yield node.cut_until - self.now
        is_void = node.apply(version, void=void, lease=lease)
        yield self.delay()
        if self.now >= node.cut_until:
            answers.append(is_void)


def lead(world: World) -> Waits:
    """A watcher that believes to be the leader, and may halt at any point for any time."""
    chance, seen, since = world.chance, Row(), 0.0
    while True:
        yield chance.uniform(0, 2)
        node = world.nodes[chance.choice([world.row.holder, world.runs_on]) or "a"]
        if world.now >= node.cut_until:
            yield from _renew(world, node)
        row = world.row
        if row != seen:
            seen, since = row, world.now
        yield halt(chance)
        is_void = False
        if row.leaves:
            answers: list[bool] = []
            old = world.nodes[row.holder]
            world.begin(world.deliver(old, row.version, void=True, lease=None, answers=answers))
            yield chance.uniform(0, 3)
            is_void = any(answers)
        left_for = (world.now - since) * WAIT_FOR / world.waits_for
        step = next_step(
            holder=row.holder, leaves=row.leaves, runs_on=world.runs_on, is_void=is_void, left_for=left_for
        )
        if world.row == row and step is Step.LEAVE:
            world.row = replace(row, leaves=True, version=row.version + 1)
        elif world.row == row and step is Step.TAKE:
            world.row = Row(world.runs_on, leaves=False, version=row.version + 1)


def halt(chance: random.Random) -> float:
    """A pause between any two steps: mostly short, sometimes longer than a lease."""
    return chance.choice([0.0] * 9 + [chance.uniform(0, 40)])


def _renew(world: World, node: Node) -> Waits:
    """Reads first the clock, then the row, and then sends the message."""
    clock = GatewayClock(**node.leases.as_document())
    yield halt(world.chance)
    row = world.row
    if row.leaves or not row.holder or world.nodes[row.holder] is not node:
        return
    yield halt(world.chance)
    lease = Granted(**clock.lease().as_document())
    for _ in range(world.chance.choice([0, 1, 1, 1, 2])):
        world.begin(world.deliver(node, row.version, void=False, lease=lease, answers=[]))


def reconcile(world: World) -> Waits:
    """Sends nodes what the row says, as an entry. The row may have been read long ago."""
    while True:
        yield world.chance.uniform(0, 10)
        row, node = world.row, world.nodes[world.chance.choice(NODES)]
        yield halt(world.chance)
        world.begin(world.deliver(node, row.version, void=False, lease=None, answers=[]))


def disturb(world: World) -> Waits:
    """The engine moves the agent, and nodes are cut off and restarted."""
    while True:
        yield world.chance.uniform(0, 60)
        node = world.nodes[world.chance.choice(NODES)]
        match world.chance.choice(["move", "cut", "restart"]):
            case "move":
                world.runs_on = world.chance.choice(NODES)
            case "cut":
                node = world.nodes[world.chance.choice([world.runs_on, *NODES])]
                node.cut_until = world.now + world.chance.choice([1.0, 10.0, 60.0, 200.0])
                yield world.chance.uniform(0, 3)
                world.runs_on = world.chance.choice(NODES)
            case "restart":
                node.restart()


def tell(world: World) -> None:
    for _ in range(3):
        world.begin(lead(world))
    world.begin(reconcile(world))
    world.begin(disturb(world))
    world.run()
