"""Health check: `python -m containers.socket_proxy.probe` exits with 0 if the proxy and the engine behind it answer."""

import socket
import sys

from containers.socket_proxy.routes import UNVERSIONED
from containers.socket_proxy.settings import listen_path

_WITHIN = 8.0


def main() -> int:
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(_WITHIN)
        stream.connect(str(listen_path()))
        stream.sendall(f"GET {UNVERSIONED} HTTP/1.1\r\nHost: docker\r\n\r\n".encode())
        return 0 if b" 200 " in stream.recv(100) else 1


if __name__ == "__main__":
    sys.exit(main())
