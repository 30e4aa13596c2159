"""One table: reads against a bare Django view that sends the same bytes, commands against the same by hand on the
engine, the memory of each process, and how soon the service serves once more. All in one run, in turn.

    python -m tests.benchmarks [--rounds 12] [--seconds 1] [--connections 16] [--projects 50] [--deploys 8]
        [--rows 1000 1000000] [--commands 10] [--at-once 1 4 8] [--others 0 100 300]

The database is the one that DATABASE_URL names, which must be empty, or SQLite. `÷ bare` is the ratio of requests a
second, and for the last row of the 99th percentiles, while `--deploys` clients deploy, stop and delete.
"""

import argparse
import os
import sys

from tests.benchmarks import reads_table
from tests.benchmarks.load import uses_wrk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--projects", type=int, default=50)
    parser.add_argument("--deploys", type=int, default=8, help="0: without the last row, and without an engine")
    parser.add_argument("--rows", type=int, nargs="*", default=[1000, 1_000_000], help="of all projects, for the list")
    parser.add_argument("--commands", type=int, default=10, help="rounds of commands; 0: none. Needs --deploys")
    parser.add_argument("--at-once", type=int, nargs="*", default=[1, 4, 8])
    parser.add_argument("--others", type=int, nargs="*", default=[0, 100, 300], help="containers beside them")
    options = parser.parse_args()
    database = os.environ.get("DATABASE_URL", "").partition(":")[0] or "sqlite"
    client = "wrk" if uses_wrk(options.seconds) else "Python's client, which slows the bare view"
    sys.stdout.write(f"{os.cpu_count()} processors, {database}, {options.connections} connections, {client}\n")
    reads_table.main(options)


if __name__ == "__main__":
    main()
