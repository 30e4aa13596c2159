"""A registry of images on a loopback address, which engines use without TLS: enough for pulls by tag and by digest."""

import gzip
import hashlib
import io
import json
import tarfile

from tests.fakes.http_server import FakeServer
from tests.fakes.messages import Answer, Request

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


class FakeRegistry(FakeServer):
    def __init__(self) -> None:
        super().__init__()
        self._blobs: dict[str, tuple[str, bytes]] = {}
        self._tags: dict[str, str] = {}

    def name(self, repository: str) -> str:
        return f"{self.host}:{self.port}/{repository}"

    def push(self, repository: str, tag: str, content: str) -> str:
        """Lets the tag name an image that contains one file with this content. Returns the digest of its manifest."""
        layer = _pack(content)
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
            "history": [{"created": "2026-01-01T00:00:00Z", "created_by": content}],
        }
        parts = [(CONFIG, json.dumps(config).encode()), (LAYER, gzip.compress(layer, mtime=0))]
        entries = [{"mediaType": kind, "size": len(blob), "digest": self._keep(kind, blob)} for kind, blob in parts]
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": entries[0], "layers": entries[1:]}
        digest = self._keep(MANIFEST, json.dumps(manifest).encode())
        self._tags[f"{repository}/{tag}"] = digest
        return digest

    def _keep(self, kind: str, blob: bytes) -> str:
        digest = _digest(blob)
        self._blobs[digest] = (kind, blob)
        return digest

    def answer(self, request: Request) -> Answer:
        if request.method != "GET":
            return Answer.json(405, {})
        if request.path.rstrip("/") == "/v2":
            return Answer.json(200, {})
        name, _, reference = request.path.removeprefix("/v2/").rpartition("/")
        repository = name.rpartition("/")[0]
        digest = self._tags.get(f"{repository}/{reference}", reference)
        if digest not in self._blobs:
            return Answer.json(404, {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "unknown"}]})
        kind, blob = self._blobs[digest]
        return Answer(200, blob, {"Content-Type": kind, "Docker-Content-Digest": digest})


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _pack(content: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("content")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content.encode()))
    return buffer.getvalue()
