"""How fast the list answers while the engine is well, refuses connections, or hangs.

    python -m tests.benchmarks.reads [--seconds 60] [--clients 4] [--pause 0.02]

The rows are as an engine left them that fell silent a minute ago, and the watcher runs, so that every read has to find
out for itself. `unknown` is how many answers said that nothing is known, as they must where the engine is silent.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.harness import EMAIL, Server, manage, percentile, print_row, serving, timed
from tests.fakes.docker_socket import faulty_socket

PROJECTS = 5
ROWS = """
from datetime import timedelta
from django.conf import settings
from django.utils import timezone
from accounts.models import User
from projects.models import AgentType, Plan, Project
long_ago = timezone.now() - timedelta(minutes=1)
for number in range(PROJECTS):
    Project.objects.create(
        owner=User.objects.get(email="EMAIL"), instance=settings.BERTH_INSTANCE, name=f"bench {number}",
        agent_type=AgentType.objects.get(slug="stub"), plan=Plan.objects.get(slug="bench"), container_state="running",
        desired="stopped" if "ENGINE" == "well" else "running", observed_at=long_ago,
    )
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between a client's reads")
    options = parser.parse_args()
    print_row("engine", "reads", "per second", "p50 ms", "p99 ms", "max ms", "unknown")
    for engine in ("well", "refuses", "hangs"):
        with engine_that(engine) as host, serving(environment=host) as server:
            manage(server, "shell", "--no-imports", "-c", rows_for(engine))
            report(engine, server, options)


def rows_for(engine: str) -> str:
    return ROWS.replace("PROJECTS", str(PROJECTS)).replace("EMAIL", EMAIL).replace("ENGINE", engine)


@contextmanager
def engine_that(behaves: str) -> Iterator[dict[str, str]]:
    """The environment in which the service meets such an engine."""
    if behaves == "well":
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="berth-bench-") as folder:
        if behaves == "refuses":
            yield {"DOCKER_HOST": f"unix://{folder}/nothing.sock"}
            return
        with faulty_socket(Path(folder)) as server:
            server.mode = "hang"
            yield {"DOCKER_HOST": server.url}


def report(engine: str, server: Server, options: argparse.Namespace) -> None:
    took: list[float] = []
    unknown = 0
    until = time.monotonic() + options.seconds

    def read() -> None:
        nonlocal unknown
        client = server.connect()
        while time.monotonic() < until:
            milliseconds, (status, rows) = timed(lambda: client.call("GET", "/api/projects"))
            assert status == 200, rows
            took.append(milliseconds)
            unknown += all(row["status"] == "unknown" for row in rows)
            time.sleep(options.pause)

    threads = [threading.Thread(target=read) for _ in range(options.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print_row(
        engine,
        len(took),
        f"{len(took) / options.seconds:.0f}",
        f"{statistics.median(took):.1f}",
        f"{percentile(took, 0.99):.0f}",
        f"{max(took):.0f}",
        f"{unknown} of {len(took)}",
    )


if __name__ == "__main__":
    main()
