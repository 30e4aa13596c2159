"""The admin's actions on the images of agents."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from projects.admin.batches import BatchActionsMixin
from projects.models import Project

IMAGES = ("update_images", "pin_images", "release_images")


class ImageUpdateMixin(BatchActionsMixin):
    @admin.display(description="image")
    def image_in_force(self, project: Project) -> str:
        facts = project.image_facts
        if facts["updating"]:
            return f"A new one is tried. {project.image_id}"
        words = "Pinned." if facts["pinned"] else "There is a newer one." if facts["update_available"] else ""
        return f"{words} {project.image_id or 'That of its type, from the next start on'}".strip()

    @admin.action(description="Update the image, with a way back")
    def update_images(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "update_images")

    @admin.action(description="Pin the image: keep owners from updating it")
    def pin_images(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "pin_images")

    @admin.action(description="Release the image: let it be updated again")
    def release_images(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "release_images")
