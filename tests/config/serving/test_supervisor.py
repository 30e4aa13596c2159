"""The supervisor's module as its children meet it."""

import os
import subprocess
import sys

from tests.paths import ROOT


def test_its_children_can_import_it_before_django_is_set_up() -> None:
    """`multiprocessing` imports the module of a child's target first; `run_child` sets Django up after that."""
    program = "import config.serving.children; from django.apps import apps; assert not apps.ready"
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
