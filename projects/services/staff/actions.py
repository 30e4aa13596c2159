"""The actions of staff in the admin's list of projects, by name, and the sentences about their results."""

from collections.abc import Callable

from projects.models import Actor, Project
from projects.rules.permissions import Egress
from projects.rules.status.lifecycle import Action, Desired
from projects.rules.status.statuses import Status
from projects.services.commands.bulk import DELETE, CommandReport, carry_out_and_describe
from projects.services.commands.clearing import clear_memory
from projects.services.commands.suspension import lift_suspension, suspend_project
from projects.services.images.update import pin_image, request_update
from projects.services.limits.permissions import impose_egress

Act = Callable[[Project, Actor, str], CommandReport]


def carry_out(name: str, project: Project, actor: Actor, *, because: str = "") -> CommandReport:
    """Carries out an action. `because` is the reason of a suspension for the owner. Raises what the command raises."""
    return _ACTS[name](project, actor, because)


def _control(action: Action) -> Act:
    return lambda project, actor, _: carry_out_and_describe(project, action, actor, by_staff=True)


def _delete(project: Project, actor: Actor, _: str) -> CommandReport:
    return carry_out_and_describe(project, DELETE, actor, by_staff=True)


def _suspend(project: Project, actor: Actor, because: str) -> CommandReport:
    suspend_project(project=project, actor=actor, because=because)
    if project.status == Status.SUSPENDED:
        return CommandReport("Suspended.")
    return CommandReport("Suspended. Its agent is still being stopped.", is_remark=True)


def _lift(project: Project, actor: Actor, _: str) -> CommandReport:
    was_suspended = project.suspended_at is not None
    lift_suspension(project=project, actor=actor)
    if project.is_suspended:
        return CommandReport("Lifted, but its owner's account is not active, so it stays down.", is_remark=True)
    if not was_suspended:
        return CommandReport("It was not suspended.", is_remark=True)
    return CommandReport(
        "Lifted, and started." if project.desired == Desired.RUNNING else "Lifted. Its owner had stopped it."
    )


def _clear(project: Project, actor: Actor, _: str) -> CommandReport:
    clear_memory(project=project, actor=actor)
    return CommandReport("Its memory is cleared.")


def _impose(egress: Egress, sentence: str) -> Act:
    def act(project: Project, actor: Actor, _: str) -> CommandReport:
        impose_egress(project=project, egress=egress, actor=actor)
        return CommandReport(sentence)

    return act


def _update_image(project: Project, actor: Actor, _: str) -> CommandReport:
    is_wanted = request_update(project=project, actor=actor)
    if is_wanted:
        return CommandReport("It gets the newest image; its events say what comes of it.")
    return CommandReport("It has the newest image.")


def _pin(sentence: str, *, keep: bool) -> Act:
    def act(project: Project, actor: Actor, _: str) -> CommandReport:
        pin_image(project=project, actor=actor, keep=keep)
        return CommandReport(sentence)

    return act


_ACTS: dict[str, Act] = {
    **{action.value: _control(action) for action in Action},
    "suspend": _suspend,
    "lift": _lift,
    "clear_memories": _clear,
    "delete_projects": _delete,
    "confine": _impose(Egress.GATEWAY, "It reaches the gateway alone, from its next start on."),
    "let_out": _impose(Egress.INTERNET, "It reaches what its type and its owner say, from its next start on."),
    "update_images": _update_image,
    "pin_images": _pin("It keeps its image.", keep=True),
    "release_images": _pin("Its image may be updated again.", keep=False),
}
