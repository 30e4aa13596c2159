"""Starts a server of its own, lets schemathesis loose on it, and tells what came of it.

python -m tests.security.fuzzing.run [--seed 1] [--examples 100] [--engine SilentEngine]
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.canaries import CANARY_PASSWORD
from tests.migrated import copy_migrated
from tests.paths import ROOT
from tests.people import email_of
from tests.ports import reserve_port
from tests.waiting import wait_until

FUZZER = "10.0.0.9"
"""The address of the fuzzer's own sign-ins, apart from the failing ones that it makes up."""

CONFIG = Path(__file__).resolve().parent / "schemathesis.toml"


@dataclass(frozen=True)
class Outcome:
    """`counts` has how often there was each `status method path`; `report` is schemathesis' own, for people."""

    passed: bool
    counts: dict[str, int]
    report: str

    @property
    def requests(self) -> int:
        return sum(self.counts.values())

    @property
    def statuses(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for name, count in self.counts.items():
            status = int(name.split()[0])
            found[status] = found.get(status, 0) + count
        return dict(sorted(found.items()))


@contextmanager
def fuzzed_server(folder: Path, *, engine: str = "WorkingEngine") -> Iterator[str]:
    """Yields the address of a server with its own database."""
    copy_migrated(folder / "var")
    port = reserve_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BERTH_", "DATABASE_URL"))}
    environment = kept | {
        "BERTH_DATA_DIR": str(folder / "var"),
        "BERTH_PORT": str(port),
        "BERTH_WORKERS": "1",
        "BERTH_VERIFY_CREDENTIALS": "off",
        "BERTH_TRUSTED_PROXIES": "1",  # the server trusts its header with FUZZER's address
        "BERTH_TEST_ENGINE": engine,
    }
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.security.fuzzing.serve"], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
    try:
        _wait_until_it_answers(f"http://127.0.0.1:{port}/healthz", server, folder / "server.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def fuzz(address: str, folder: Path, *, seed: int, examples: int, arguments: list[str] | None = None) -> Outcome:
    """Sends about a hundred requests for each of `examples`."""
    counts, people = folder / "counts.json", folder / "people.json"
    people.write_text(json.dumps({"auth": [_sign_in("alice"), _sign_in("bob")]}))
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG.read_text().replace("PEOPLE", json.dumps(str(people))))
    command = [
        str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(config), "run", f"{address}/api/schema",
        "--url", address, "--seed", str(seed), "--max-examples", str(examples), *(arguments or []),
    ]  # fmt: skip
    environment = os.environ | {
        "FUZZ_COUNTS": str(counts), "FUZZ_OFFERS": json.dumps(_offers(address)), "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.security.fuzzing.hooks",
    }  # fmt: skip
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, text=True)
    return Outcome(
        passed=done.returncode == 0,
        counts=json.loads(counts.read_text()) if counts.exists() else {},
        report=done.stdout + done.stderr,
    )


def operations(address: str) -> list[str]:
    """The names of all operations in the description."""
    request = urllib.request.Request(f"{address}/api/schema", headers={"Accept": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        paths = json.load(answer)["paths"]
    return sorted(each["operationId"] for path in paths.values() for each in path.values() if "operationId" in each)


def _offers(address: str) -> dict[str, object]:
    """Constraints of a project's fields that only the catalogue knows, as pieces of JSON Schema."""
    login = {"email": email_of("alice"), "password": CANARY_PASSWORD}
    token = _call(f"{address}/api/auth/login", {"X-Forwarded-For": FUZZER}, login)["token"]
    headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": FUZZER}
    plans, types = (_call(f"{address}/api/{name}", headers) for name in ("plans", "types"))
    (agent_type,) = types
    needed = {"telegramToken": agent_type["needs_telegram_token"], "apiKey": agent_type["needs_api_key"]}
    return {
        "properties": {
            "plan": {"enum": [plan["slug"] for plan in plans]},
            "type": {"enum": [agent_type["slug"]]},
            "settings": _without_control_characters(agent_type["settings_schema"]),
        },
        "required": [field for field, is_needed in needed.items() if is_needed],
        "budget": {name: limit for name, limit in plans[0]["budget"].items() if limit is not None},
    }


def _without_control_characters(schema: Any) -> Any:
    """Constraints of every text in any type's settings."""
    if isinstance(schema, list):
        return [_without_control_characters(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _without_control_characters(one) for name, one in schema.items()}
    return {"pattern": r"^[^\x00-\x08\x0b-\x1f\x7f]*$", **found} if schema.get("type") == "string" else found


def _call(url: str, headers: dict[str, str], body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers | {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def _sign_in(name: str) -> dict[str, object]:
    return {
        "name": name,
        "loginEndpointAuth": {
            "verb": "POST",
            "endpoint": "/api/auth/login",
            "contentType": "application/json",
            "headers": [{"name": "X-Forwarded-For", "value": FUZZER}],
            "payloadUserPwd": {
                "username": email_of(name),
                "usernameField": "email",
                "password": CANARY_PASSWORD,
                "passwordField": "password",
            },
            "token": {
                "extractFrom": "body",
                "extractSelector": "/token",
                "sendIn": "header",
                "sendName": "Authorization",
                "sendTemplate": "Bearer {token}",
            },
        },
    }


def _wait_until_it_answers(address: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    def answers() -> bool:
        assert server.poll() is None, log.read_text()[-3000:]
        try:
            with urllib.request.urlopen(address, timeout=60):
                return True
        except OSError:
            return False

    wait_until(answers, within=60, what=lambda: log.read_text()[-3000:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--engine", default="WorkingEngine")
    options, arguments = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name, fuzzed_server(Path(name), engine=options.engine) as address:
        began = time.monotonic()
        outcome = fuzz(address, Path(name), seed=options.seed, examples=options.examples, arguments=arguments)
        sys.stdout.write(f"{outcome.report}\n{outcome.requests} requests in {time.monotonic() - began:.0f} s\n")
        sys.stdout.write(f"{outcome.statuses}\n")
    return 0 if outcome.passed else 1


if __name__ == "__main__":
    sys.exit(main())
