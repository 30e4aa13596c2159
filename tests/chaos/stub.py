"""A tiny agent image (2 MB, busybox) that starts in an instant and misbehaves on command; made without a registry."""

import io
import tarfile
from pathlib import Path

import docker

BUSYBOX = Path("/bin/busybox")
REPOSITORY = "berth-test/chaos"
_APPLETS = ("sh", "sleep", "echo", "cat", "dd", "test")

# What to do is read from a file: one in /tmp is forgotten when the container starts again, one in /data is not.
SCRIPT = r"""#!/bin/sh
say() { echo "AGENT-STATUS {\"v\":1,\"state\":\"$1\",\"code\":\"$2\",\"detail\":\"\"}"; }
trap 'say stopped; exit 0' TERM
test "$AGENT_INSTRUCTIONS" = deaf && trap '' TERM
say running
while :; do
  for wish in /tmp/do /data/do; do
    test -e $wish && case "$(cat $wish)" in
      exit0) exit 0 ;;
      exit1) say failed crash; exit 1 ;;
      exit20) say failed telegram_token; exit 20 ;;
      oom) exec dd if=/dev/zero of=/dev/null bs=200M count=1 ;;
    esac
  done
  sleep 0.2 & wait $!
done
"""


def make_image(client: docker.APIClient, tag: str) -> str:
    """Import the image; returns its name."""
    changes = ['CMD ["/agent"]', "ENV PATH=/bin"]
    client.import_image_from_data(_pack(), repository=REPOSITORY, tag=tag, changes=changes)
    return f"{REPOSITORY}:{tag}"


def _pack() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, mode, owner in (
            ("bin", 0o755, 0), ("tmp", 0o1777, 0), ("etc", 0o755, 0), ("run", 0o755, 0),
            ("run/secrets", 0o500, 10001), ("data", 0o700, 10001),
        ):  # fmt: skip
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, mode, owner, owner
            archive.addfile(entry)
        _add(archive, "bin/busybox", BUSYBOX.read_bytes())
        _add(archive, "agent", SCRIPT.encode())
        for applet in _APPLETS:
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))
