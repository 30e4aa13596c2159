"""Columns: the image that a project's agent runs, and an update of it under way."""

from typing import TYPE_CHECKING, Any, TypedDict

from django.db import models

from projects.rules.status.image_update import Step


class ImageFacts(TypedDict):
    """`image` in the API. `pinned`: staff decided that the agent keeps its image."""

    update_available: bool
    updating: bool
    pinned: bool


def _image_id() -> models.CharField:  # type: ignore[type-arg]  # generic for the type checker only
    return models.CharField(max_length=80, blank=True, default="", db_default="", editable=False)


class RunsImage(models.Model):
    """A start uses `image_id`, so that an agent changes its image only if an owner or staff ask for it."""

    image_id = _image_id()
    """The id of the image that the last deploy used. If it is empty, the next deploy uses the type's image."""
    keeps_image = models.BooleanField("image is pinned", default=False, db_default=False, editable=False)

    # An update under way (`projects.rules.status.image_update`).
    update_step = models.CharField(max_length=10, blank=True, default="", db_default="", editable=False)
    next_image_id = _image_id()
    """The id of the new image to try."""
    former_image_id = _image_id()
    """The id of the image before it. The step says whether there is a complete copy of the memory it ran with."""
    update_until = models.DateTimeField(null=True, editable=False)
    """When the new image must be ready, unless it was started again since. In DROP: when to try the removal again."""

    _type_image_id: str | None = None

    if TYPE_CHECKING:  # a foreign key of the model
        agent_type: Any

    class Meta:
        abstract = True

    def cache_type_image(self, image_id: str) -> None:
        """Stores the type's image if a query has read it, so that the type itself need not be read."""
        self._type_image_id = image_id

    @property
    def ready_within(self) -> int:
        """Seconds that the new image has from each start, or 0 if none is on trial."""
        return int(self.agent_type.ready_timeout) if self.update_step == Step.TRIAL else 0

    @property
    def image_facts(self) -> ImageFacts:
        newest = self.agent_type.image_id if self._type_image_id is None else self._type_image_id
        is_older = bool(self.image_id and newest) and self.image_id != newest
        is_updating = self.update_step not in {Step.NONE, Step.DROP}
        return ImageFacts(
            update_available=is_older and not (is_updating or self.keeps_image),
            updating=is_updating,
            pinned=self.keeps_image,
        )


NO_UPDATE: dict[str, Any] = {"update_step": Step.NONE, "next_image_id": "", "former_image_id": "", "update_until": None}

ONLY_COPY_LEFT = NO_UPDATE | {"update_step": Step.DROP}
"""The update is over and cannot be undone; only the copy is left to remove."""
