"""The image that sets firewall rules through the engine, without a registry:
busybox, this host's iptables and its ip."""

import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import docker

from containers.docker_api.building.image_build import FIREWALL
from tests.busybox import pack_root

_PROGRAMS = ("sh", "ip", "xtables-nft-multi")
_NAMES = ("iptables", "iptables-restore", "ip6tables", "ip6tables-restore")


def make_iptables_image(client: docker.APIClient) -> None:
    """Gives the engine the image under the name by which Berth looks for it."""
    buffer = io.BytesIO(pack_root({}, applets=("cat", "grep", "nc", "sed", "tail")))
    with tarfile.open(fileobj=buffer, mode="a") as archive:
        # Not busybox's shell, which would run an `ip` of its own.
        programs = [Path(str(shutil.which(name, path="/usr/sbin:/sbin:/bin"))) for name in _PROGRAMS]
        for program in programs:
            _add(archive, program, f"bin/{program.name}" if program.name == "sh" else f"usr/sbin/{program.name}")
        for library in {each for program in programs for each in _libraries_of(program)}:
            _add(archive, library, str(library).lstrip("/"))
        for folder in Path("/usr/lib").glob("*/xtables"):
            for extension in folder.iterdir():
                _add(archive, extension, str(extension).lstrip("/"))
        for name in _NAMES:
            link = tarfile.TarInfo(f"usr/sbin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "xtables-nft-multi"
            archive.addfile(link)
    repository, _, tag = FIREWALL.image.partition(":")
    client.import_image_from_data(
        buffer.getvalue(), repository=repository, tag=tag, changes=["ENV PATH=/usr/sbin:/bin", 'CMD ["/bin/sh"]']
    )


def _libraries_of(program: Path) -> list[Path]:
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", listed)]


def _add(archive: tarfile.TarFile, file: Path, name: str) -> None:
    content = file.resolve().read_bytes()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))
