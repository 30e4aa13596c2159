"""The FROM lines of a Dockerfile are followed through its stages."""

import pytest

from containers.docker_api.building.dockerfile import read_base_images
from containers.docker_api.building.image_build import AGENT_BASE, FIREWALL, GATEWAY, find_contexts

DIGEST = "sha256:" + "a" * 64


@pytest.mark.one_database
def test_the_images_that_come_with_berth_begin_with_the_fixed_base_only() -> None:
    for context in (*find_contexts(), FIREWALL, AGENT_BASE, GATEWAY):
        assert context.base_images().uses_base_image
        assert context.base_images().unpinned == ()


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("dockerfile", "uses_base_image", "unpinned"),
    [
        ("FROM ${BASE_IMAGE}", True, ()),
        ("from $BASE_IMAGE as x\nfrom X", True, ()),
        ("FROM ${BASE_IMAGE} AS x\nFROM --platform=linux/amd64 alpine", False, ("alpine",)),
        ("FROM alpine:3 AS x\n  FROM ${BASE_IMAGE}", True, ("alpine:3",)),
        (f"FROM alpine@{DIGEST}", False, ()),
        ("FROM alpine@sha256:aa", False, ("alpine@sha256:aa",)),
        ("FROM ${BASE_IMAGE} AS x\nFROM ${AGENT_BASE}", True, ()),
        ("FROM $AGENT_BASE", True, ()),
        ("FROM ${AGENT_BASE_OF_MINE}", False, ("${AGENT_BASE_OF_MINE}",)),
        ("FROM scratch", False, ()),
        ("FROM ${BASE_IMAGE_OF_MINE}", False, ("${BASE_IMAGE_OF_MINE}",)),
        ("FROM \\\n  alpine", False, ("alpine",)),
        ("# FROM alpine\nRUN echo FROM alpine\nFROM $BASE_IMAGE", True, ()),
        ("", False, ()),
    ],
)
def test_from_lines_are_followed_through_the_stages(
    dockerfile: str, uses_base_image: bool, unpinned: tuple[str]
) -> None:
    found = read_base_images(dockerfile)
    assert (found.uses_base_image, found.unpinned) == (uses_base_image, unpinned)
