"""Types what docs/operations.md says, word for word, in an installation of its own, with an agent that runs meanwhile.

python -m tests.operations.walk     takes minutes and an engine that answers; takes all away again that it has made

It ends with the first block that fails, or after which the service is not well or the agent is not `running`.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.e2e.service import Service, copy_checkout, make_environment
from tests.e2e.settling import GENEROUS, settle, sign_in, status_of
from tests.engines import address_of_host
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.leftovers import remove_leftovers
from tests.paths import ROOT
from tests.waiting import wait_until

PAGE = ROOT / "docs" / "operations.md"
SETTING = re.compile(r"BERTH_|DATABASE_URL|DOCKER_(HOST|TLS_VERIFY|CERT_PATH)$")
"""A setting that `make install-service` writes."""


def read_blocks() -> list[tuple[str, str]]:
    """Returns each shell block with its heading."""
    blocks, heading = [], ""
    for found in re.finditer(r"^## ([^\n]+)$|^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        heading = found[1] or heading
        if found[2]:
            blocks.append((heading, found[2]))
    assert blocks, "The page has no block for a shell."
    return blocks


@contextmanager
def installation() -> Iterator[Service]:
    host = address_of_host()
    with (
        tempfile.TemporaryDirectory() as name,
        FakeTelegram(host=host) as telegram,
        FakeProvider(host=host) as provider,
    ):
        telegram.add_bot(CANARY_TELEGRAM_TOKEN, username="harbour_bot")
        provider.add_key(CANARY_API_KEY)
        folder = Path(name)
        copy_checkout(folder)
        if (ROOT / ".venv/bin/uv").exists():
            (folder / ".venv").symlink_to(ROOT / ".venv")  # which removes nothing from it
        allow = [f"{host}/32:{fake.port}" for fake in (telegram, provider)]
        environment = make_environment(
            folder, telegram=telegram.url, provider=provider.api_base, allow=allow, instance="walk"
        )
        service = Service(folder, environment, checkout=folder)
        try:
            service.start()
            yield service
        finally:
            service.interrupt_if_running()
            service.engine.close()
            remove_leftovers(environment)


def deploy(service: Service) -> None:
    token = sign_in(service)
    wanted = {"name": "Harbour pilot", "telegramToken": CANARY_TELEGRAM_TOKEN, "apiKey": CANARY_API_KEY}
    found = settle(service, token, service.call("POST", "/api/projects", wanted, token))
    assert found["status"] == "running", f"The agent is {found['status']}: {found.get('status_reason')}"


def write_settings(service: Service) -> Path:
    """Writes the settings of the service, as systemd's, into a folder that stands for `/`. Returns the folder."""
    root = service.folder / "system"
    written = root / "etc/berth/environment"
    written.parent.mkdir(parents=True, exist_ok=True)
    settings = {name: value for name, value in service.environment.items() if SETTING.match(name)}
    written.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return root


def type_in(service: Service, block: str) -> None:
    """Types commands as people do, who stop at the first one that fails,
    and whose shell has none of the service's settings."""
    shell = {name: value for name, value in service.environment.items() if not SETTING.match(name)}
    shell |= {"DESTDIR": str(write_settings(service)), "BERTH_PORT": service.environment["BERTH_PORT"]}
    subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=service.checkout, env=shell, check=True)
    wait_until(service._is_ready, within=GENEROUS, what=lambda: "/readyz is not well", every=0.5)
    assert status_of(service) == "running"


def main() -> int:
    with installation() as service:
        deploy(service)
        for heading, block in read_blocks():
            began = time.monotonic()
            sys.stdout.write(f"== {heading}\n{block}")
            sys.stdout.flush()
            type_in(service, block)
            sys.stdout.write(f"-- {time.monotonic() - began:.1f} s, and the agent runs.\n")
    sys.stdout.write(f"All of {PAGE.relative_to(ROOT)} was typed.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
