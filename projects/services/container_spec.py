"""From a project to the specification of its container."""

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.engine import INSTANCE_LABEL, ContainerSpec
from projects.models import Project
from projects.models.project import API_KEY, TELEGRAM_TOKEN

PROJECT_LABEL = "berth.project"
OWNER_LABEL = "berth.owner"


@sensitive_variables()
def build_spec(project: Project) -> ContainerSpec:
    secrets = {
        "telegram_bot_token": project.decrypt_credential(TELEGRAM_TOKEN),
        "agent_api_key": project.decrypt_credential(API_KEY),
    }
    return ContainerSpec(
        name=project.container_name,
        image=project.agent_type.image,
        labels=labels_of(project),
        generation=project.generation,
        environment=_environment(project),
        secrets={name: value for name, value in secrets.items() if value},
        memory=project.plan.memory,
        nano_cpus=project.plan.nano_cpus,
        pids=project.plan.pids,
        stop_timeout=project.agent_type.stop_timeout,
    )


def labels_of(project: Project) -> dict[str, str]:
    return {
        INSTANCE_LABEL: project.instance,
        PROJECT_LABEL: str(project.id),
        OWNER_LABEL: str(project.owner_id),
    }


def _environment(project: Project) -> dict[str, str]:
    chosen = project.settings
    environment = {
        "TELEGRAM_API_BASE": settings.BERTH_TELEGRAM_API,
        "AGENT_API_BASE": settings.BERTH_PROVIDER_API,
        "AGENT_PROVIDER": project.provider,
        "AGENT_MODEL": str(chosen.get("model", "")),
        "AGENT_INSTRUCTIONS": str(chosen.get("instructions", "")),
        "AGENT_ALLOWED_USERS": ",".join(str(user) for user in chosen.get("allowed_users", [])),
    }
    return {name: value for name, value in environment.items() if value}
