"""A release pins everything by commit, has only the rights that it needs, and has one version everywhere."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.database.migration_lock import PATIENCE
from tests.paths import ROOT

pytestmark = pytest.mark.one_database

WORKFLOW = ROOT / ".github/workflows/release.yml"


def read_workflow() -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(WORKFLOW.read_text())
    return found


def test_each_action_is_pinned_by_commit_and_names_its_release() -> None:
    used = re.findall(r"uses: (\S+)(.*)", WORKFLOW.read_text())
    assert len(used) == 6
    for name, rest in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name)
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest)


def test_it_signs_the_images_of_both_architectures() -> None:
    workflow = read_workflow()
    assert workflow["permissions"] == {"contents": "read"}
    job = workflow["jobs"]["images"]
    (build,) = (step["with"] for step in job["steps"] if "build-push-action" in step.get("uses", ""))
    assert (build["platforms"], build["sbom"], build["provenance"]) == ("linux/amd64,linux/arm64", True, "mode=max")
    targets = re.findall(r"^FROM \S+ AS (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert {each["target"] for each in job["strategy"]["matrix"]["include"]} == set(targets) - {"build"}
    assert "cosign sign" in job["steps"][-1]["run"]
    # Text that others may write, such as the name of a tag, reaches a shell only as a variable.
    assert not any("${{" in step.get("run", "") for step in job["steps"])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that may be released as 1.2.3."""
    (tmp_path / "config/bin").mkdir(parents=True)
    shutil.copy(ROOT / "config/bin/check-release", tmp_path / "config/bin")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.3] - 2026-11-23\n\n## [1.2.2] - 2026-11-01\n")
    write_dockerfile(tmp_path, "1.2.3", "1.2.3")
    return tmp_path


def write_dockerfile(checkout: Path, *versions: str) -> None:
    """Writes an image for each version, or one without a label if it is empty, after the stage that builds."""
    stages = [
        f"FROM python AS image{number}\n" + (f'LABEL org.opencontainers.image.version="{version}"\n' if version else "")
        for number, version in enumerate(versions)
    ]
    (checkout / "Dockerfile").write_text("".join(["FROM python AS build\n", *stages]))


def check(checkout: Path, *tag: str) -> tuple[int, str]:
    done = subprocess.run([checkout / "config/bin/check-release", *tag], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_tag_is_compared_with_version_changelog_and_labels(checkout: Path) -> None:
    assert check(checkout, "v1.2.3") == (0, "")
    for tag in ((), ("1.2.3",), ("v1.2.4",), ("v1.2.3 ",), ("v1x2.3",)):
        code, said = check(checkout, *tag)
        assert (code, "pyproject.toml says 1.2.3" in said) == (1, True)
    write_dockerfile(checkout, "1.2.3", "1.2.2")
    assert "labels an image 1.2.2" in check(checkout, "v1.2.3")[1]
    (checkout / "CHANGELOG.md").write_text("## [1.2.3] - unreleased\n")
    assert "no chapter [1.2.3]" in check(checkout, "v1.2.3")[1]


@pytest.mark.parametrize("versions", [("", ""), ("1.2.3", ""), ("", "1.2.3")])
def test_an_image_without_a_version_is_not_released(checkout: Path, versions: tuple[str, str]) -> None:
    write_dockerfile(checkout, *versions)
    code, said = check(checkout, "v1.2.3")
    assert (code, "does not label each of its images" in said) == (1, True)


def test_this_checkout_labels_each_of_its_images(checkout: Path) -> None:
    shutil.copy(ROOT / "Dockerfile", checkout)
    assert "does not label" not in check(checkout, "v1.2.3")[1]


def test_a_stack_has_no_secret_in_its_environment() -> None:
    stack = yaml.safe_load((ROOT / "stack.yaml").read_text())
    for name, service in stack["services"].items():
        beside = {each for each in service["environment"] if re.search(r"KEY|PASSWORD|DATABASE_URL|TOKEN", each)}
        assert beside, name
        assert all(each.endswith("_FILE") for each in beside)
        assert {Path(service["environment"][each]).name for each in beside} <= set(service["secrets"])
    assert {service["environment"].get("BERTH_ROLE") for service in stack["services"].values()} == {
        "web",
        "watcher",
        None,
    }


def test_a_swarm_lets_a_web_server_wait_for_the_migration_of_another() -> None:
    web = yaml.safe_load((ROOT / "stack.yaml").read_text())["services"]["web"]
    assert "manage.py prepare" in web["command"][-1]
    minutes = re.fullmatch(r"(\d+)m", web["healthcheck"]["start_period"])
    assert minutes
    assert int(minutes[1]) * 60 > PATIENCE
    assert web["healthcheck"].keys() == {"start_period", "timeout", "retries"}  # the command is the image's
