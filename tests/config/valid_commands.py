"""Each command of `manage.py` with arguments with which it does its work, and its exit code if nothing disturbs it.

The installation has a user, an archive of `manage.py backup` and an agent in quarantine, and an engine that answers.
"""

from dataclasses import dataclass
from pathlib import Path

from django.core.management import get_commands

from tests.config.command_arguments import OURS

SWARM = {"BERTH_ENGINE": "swarm", "BERTH_ENGINE_CLASS": "containers.swarm.engine.SwarmEngine"}
USER, QUARANTINED, ARCHIVE = "alice@berth.example", "00000000-0000-0000-0000-00000000000a", "berth.tar"
REFUSED = 1
"""The engine of the tests has no agents that could move, and creates no network."""
PASSWORD = "a-long-passphrase-of-tests"


@dataclass(frozen=True, slots=True)
class Line:
    """`{data}` and `{engine}` stand for the data directory and the engine's address. `given` is typed."""

    words: str
    code: int = 0
    given: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    works_once: bool = False
    """A second run has nothing to work on, and says so."""

    def arguments(self, data: Path, engine: str = "") -> list[str]:
        return [word.replace("{data}", str(data)).replace("{engine}", engine) for word in self.words.split()]

    @property
    def command(self) -> str:
        return self.words.partition(" ")[0]


def _on_swarm(words: str, code: int = 0) -> Line:
    return Line(words, code, settings=tuple(SWARM.items()))


LINES = (
    Line("adopt --yes"), Line("adopt --dry-run"),
    Line("backup {data}/a.tar --with-keys {data}/k.json --with-memory"), Line("backup"),
    Line("build_images --no-pull gateway"), Line("build_images --before-serving --base-image debian --force gateway"),
    Line("changepassword alice@berth.example", given=f"{PASSWORD}\n{PASSWORD}\n"),
    Line("ensure_admin"),
    Line("firewall"), Line("firewall --boot"), Line("firewall --apply", REFUSED), Line("firewall --remove"),
    Line("firewall --keep-down"),
    Line("migrate"),
    _on_swarm("migrate_engine --from {engine} --dry-run", REFUSED),
    _on_swarm("migrate_engine --from {engine} --yes", REFUSED),
    _on_swarm("node --resolver 10.0.0.1"),
    Line("prepare"), Line("prepare --while-serving"),
    Line("push_images berth/assistant", settings=(("BERTH_REGISTRY", "127.0.0.1:5000"),)),
    Line("quarantine list"), Line(f"quarantine log {QUARANTINED}"),
    Line(f"quarantine adopt {QUARANTINED} --owner {USER}", works_once=True),
    Line(f"quarantine delete {QUARANTINED} --yes", works_once=True),
    Line("reconcile"),
    Line("reload", REFUSED),  # nothing runs
    Line("restore {data}/berth.tar --replace"), Line("restore {data}/berth.tar --replace --dry-run"),
    Line("rotate_secrets"),
    Line("serve --check"), Line("serve --prepare"),
    _on_swarm("swarm"),
    Line("test_type assistant --within 1", REFUSED),
    Line("uninstall --dry-run"), Line("uninstall --yes --volumes --images --data", works_once=True),
    Line("version"),
    Line("watch"),
)  # fmt: skip


def ours() -> set[str]:
    return {name for name, app in get_commands().items() if app in OURS}


def usual(command: str) -> Line:
    """Returns the first line of the command."""
    return next(line for line in LINES if line.command == command)
