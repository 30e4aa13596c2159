"""A burst of sign-ins does not leave every thread of a worker with the memory of a password check."""

import subprocess
import sys

import pytest

from tests.paths import ROOT

BURST = """
import sys, threading
from pathlib import Path
from argon2.low_level import Type, hash_secret
from accounts.credentials.passwords import BoundedArgon2PasswordHasher as Hasher
from config.serving.freed_memory import return_large_blocks

def resident():
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) // 1024

def check(together):
    for _ in range(3):
        together.wait()
        hash_secret(b"secret", b"0" * 16, Hasher.time_cost, Hasher.memory_cost, Hasher.parallelism, 32, Type.ID)
    together.wait()

if "return" in sys.argv:
    return_large_blocks()
before = resident()
together = threading.Barrier(17)
threads = [threading.Thread(target=check, args=(together,)) for _ in range(16)]
for thread in threads:
    thread.start()
for _ in range(4):
    together.wait()
print(resident() - before)
"""
"""Prints how many MiB the process has kept after 16 threads have checked passwords at the same time."""


def kept(*arguments: str) -> int:
    code = f"import django; django.setup()\n{BURST}"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return int(done.stdout)


@pytest.mark.rare(1)
def test_checked_passwords_leave_no_memory_with_the_threads() -> None:
    assert kept("return") < 19


@pytest.mark.rare(1)
def test_without_that_the_threads_would_keep_it() -> None:
    assert kept() > 19
