"""Takes away the bridges of an engine of the tests' own that has ended, with their firewall rules.

    .venv/bin/python -m tests.forgotten_bridges FOLDER

The engine has written down its networks in the folder. It leaves their interfaces behind when it ends.
"""

import re
import sys
from pathlib import Path

from tests.engines import remove_bridge

BRIDGE = re.compile(rb"\b(?:berth|bexit|btry)-[0-9a-f]{8}\b")
"""As Berth names them (`containers/firewall/bridge.py`), in a file of the engine's own format."""


def forgotten_bridges(folder: Path) -> list[str]:
    """Also those that it has taken away itself, whose names may still stand in its file."""
    written = folder / "network/files/local-kv.db"
    return sorted({name.decode() for name in BRIDGE.findall(written.read_bytes())}) if written.exists() else []


if __name__ == "__main__":
    for bridge in forgotten_bridges(Path(sys.argv[1])):
        if Path("/sys/class/net", bridge).exists():
            remove_bridge(bridge)
