"""What staff decide of the images of agents, in the admin."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from projects.batch_admin import ActsOnEach, actor_of
from projects.models import Project
from projects.services.image_update import pin_image, request_update

IMAGES = ("update_images", "pin_images", "release_images")


class UpdatesImages(ActsOnEach):
    @admin.display(description="image")
    def image_in_force(self, project: Project) -> str:
        facts = project.image_facts
        if facts["updating"]:
            return f"A new one is tried. {project.image_id}"
        words = "Pinned." if facts["pinned"] else "There is a newer one." if facts["update_available"] else ""
        return f"{words} {project.image_id or 'That of its type, from the next start on'}".strip()

    @admin.action(description="Update the image, with a way back")
    def update_images(self, request: HttpRequest, chosen: QuerySet[Project]) -> None:
        actor = actor_of(request)

        def update(project: Project) -> None:
            is_wanted = request_update(project=project, actor=actor)
            result = "gets the newest image; its events say what comes of it" if is_wanted else "has the newest image"
            self.message_user(request, f"{project.name}: {result}.", messages.INFO)

        self._each(request, chosen, update)

    @admin.action(description="Pin the image: keep owners from updating it")
    def pin_images(self, request: HttpRequest, chosen: QuerySet[Project]) -> None:
        actor = actor_of(request)
        self._each(request, chosen, lambda project: pin_image(project=project, actor=actor, keep=True))

    @admin.action(description="Release the image: let it be updated again")
    def release_images(self, request: HttpRequest, chosen: QuerySet[Project]) -> None:
        actor = actor_of(request)
        self._each(request, chosen, lambda project: pin_image(project=project, actor=actor, keep=False))
