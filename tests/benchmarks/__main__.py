"""One table: every read against a bare Django view that sends the same bytes, in one run, in turn.

    python -m tests.benchmarks [--rounds 5] [--seconds 4] [--connections 16] [--projects 50] [--deploys 8]

The database is the one that DATABASE_URL names, which must be empty, or SQLite. `÷ bare` is the ratio of requests a
second, and for the last row of the 99th percentiles, while `--deploys` clients deploy, stop and delete.
"""

import argparse
import os
import sys

from tests.benchmarks import reads_table
from tests.benchmarks.load import WRK


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--projects", type=int, default=50)
    parser.add_argument("--deploys", type=int, default=8, help="0: without the last row, and without an engine")
    options = parser.parse_args()
    database = os.environ.get("DATABASE_URL", "").partition(":")[0] or "sqlite"
    client = "wrk" if WRK else "Python's client, which slows the bare view (install wrk for true ratios)"
    sys.stdout.write(f"{os.cpu_count()} processors, {database}, {options.connections} connections, {client}\n")
    reads_table.main(options)


if __name__ == "__main__":
    main()
