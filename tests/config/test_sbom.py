"""`make sbom` lists the packages of the service and of the agent images."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

pytestmark = pytest.mark.rare(2)

ROOT = Path(settings.BASE_DIR)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sbom")
    subprocess.run([ROOT / "config/bin/sbom", made], check=True, cwd=ROOT, capture_output=True)
    return made


def components(file: Path) -> dict[str, dict[str, Any]]:
    document = json.loads(file.read_text())
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    return {component["name"]: component for component in document["components"]}


def test_the_service_is_listed_with_versions_and_hashes_and_without_the_tools_of_developers(folder: Path) -> None:
    listed = components(folder / "service.cdx.json")
    locked = {package["name"]: package for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    wanted = {re.split(r"[\[>=<~! ;]", name)[0] for name in _project()["dependencies"]}
    assert wanted <= set(listed)
    assert {"pytest", "mypy", "ruff"}.isdisjoint(listed)
    for name, component in listed.items():
        assert component["version"] == locked[name]["version"]
        assert component["purl"].startswith(f"pkg:pypi/{name}@")
        assert all(reference["hashes"] for reference in component["externalReferences"])


def test_each_agent_image_is_listed(folder: Path) -> None:
    files = list((ROOT / "containers/images").glob("*/requirements.txt"))
    assert files
    for requirements in files:
        pinned = dict(re.findall(r"^([\w.-]+)==([\w.]+)", requirements.read_text(), re.M))
        listed = components(folder / f"agent-{requirements.parent.name}.cdx.json")
        assert {name: component["version"] for name, component in listed.items()} == pinned
        locked = requirements.read_text()
        for component in listed.values():
            hashes = [each for reference in component["externalReferences"] for each in reference["hashes"]]
            assert {each["alg"] for each in hashes} == {"SHA-256"}
            assert all(f"--hash=sha256:{each['content']}" in locked for each in hashes)


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project
