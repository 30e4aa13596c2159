from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from containers.docker_api.client import Connection
from containers.errors import EngineError
from containers.swarm.placement.capacity import free_here
from projects.errors import ProjectError
from projects.management.confirmation import require_confirmation
from projects.rules.sizes import MIB
from projects.services.staff.migration import Migration, Move, NotStartedError
from projects.watcher.leader import Leadership, LeadershipLostError, become_leader, name_watcher

NO_SWARM = "Set BERTH_ENGINE=swarm, and DOCKER_HOST to a manager of the Swarm to which the agents should move."
BERTH_RUNS = "A watcher of Berth is at work. Stop Berth everywhere: it would restart agents that were stopped here."
SOME_DOWN = (
    "All memories were copied, but {} agents are DOWN: stopped on the former host, and refused here. "
    "Remove the cause, and run this again: until then they stay down."
)
MAY_BE_DOWN = (
    "{0}: {1} Remove the cause, and run this again: until then agent {0} may be DOWN, and later agents stay there."
)


class Command(BaseCommand):
    help = (
        "Move all agents of a single Docker host to the Swarm of DOCKER_HOST, with their memories, one after another. "
        "Stop Berth first. If this is interrupted, run it again."
    )
    requires_current_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--from", dest="host", required=True, help="such as unix:///var/run/docker.sock")
        parser.add_argument(
            "--dry-run", action="store_true", help="only print what would be done, and what prevents it"
        )
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.BERTH_ENGINE != "swarm":
            raise CommandError(NO_SWARM)
        leadership = Leadership(name_watcher())
        if leadership.is_elsewhere():
            raise CommandError(BERTH_RUNS)
        try:
            migration = Migration(options["host"])
            moves = migration.plan()
            self._check(migration, moves)
            if options["dry_run"]:
                return
            if not options["yes"]:
                require_confirmation("move", "to begin")
            self._move_all(migration, moves, leadership)
        except (EngineError, ProjectError) as error:
            raise CommandError(f"{error} Remove the cause, and run this again.") from error
        except LeadershipLostError as error:
            raise CommandError(BERTH_RUNS) from error

    def _check(self, migration: Migration, moves: list[Move]) -> None:
        for move in moves:
            self.stdout.write(_describe(move))
        found = [*migration.obstacles(moves), *_lack_of_room(moves)]
        if found:
            raise CommandError("\n".join(["Nothing was changed.", *found]))

    def _move_all(self, migration: Migration, moves: list[Move], leadership: Leadership) -> None:
        if not leadership.take(become_leader):
            raise CommandError(BERTH_RUNS)
        try:
            left = [move for move in moves if not move.is_done]
            migration.expect(left)
            down = [sentence for sentence in self._move_each(migration, left, leadership) if sentence]
        finally:
            leadership.give_back()
        if down:
            raise CommandError("\n".join([SOME_DOWN.format(len(down)), *down]))
        self.stdout.write(self.style.SUCCESS("All agents have moved. Start Berth with these settings."))

    def _move_each(self, migration: Migration, left: list[Move], leadership: Leadership) -> Iterator[str]:
        """Yields why each agent does not run after its move, or an empty text."""
        for number, move in enumerate(left, start=1):
            key = move.project.container_key
            self.stdout.write(f"{number} of {len(left)}: {key}")
            self.stdout.flush()
            try:
                migration.carry_out(move.project, alive=leadership.require)
                yield ""
            except NotStartedError as error:
                yield f"{key}: {error}"
            except (EngineError, ProjectError) as error:
                raise CommandError(MAY_BE_DOWN.format(key, error)) from error


def _lack_of_room(moves: list[Move]) -> list[str]:
    """Returns an obstacle if the manager's node, to which all agents move, has too little memory for them."""
    needed = sum(move.project.memory for move in moves if move.there is None and move.is_to_run)
    free = free_here(Connection())
    if needed <= free:
        return []
    return [f"The manager's node has {max(0, free) // MIB} MB left, and these agents need {needed // MIB} MB."]


def _describe(move: Move) -> str:
    key = move.project.container_key
    if move.is_done:
        return f"{key}: has moved"
    return f"{key}: {'stop, copy, start' if move.is_to_run else 'copy; it is not to run'}"
