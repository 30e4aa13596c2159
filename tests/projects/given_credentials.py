"""The credentials that an agent effectively uses: those in its files, or those that the gateway adds."""

from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import digest


def credentials_of(engine: MemoryEngine, project: Project) -> dict[str, str]:
    """By the names of the files. Leaves out virtual ones that are void or unknown to the gateway."""
    files = engine.secrets_of(project.container_name)
    entry = engine.gateway_program.entries.get(str(project.pk))
    bot, provider = ((entry or {}).get(name) or {} for name in ("telegram", "provider"))
    real = {bot.get("virtual"): bot.get("token"), provider.get("virtual"): provider.get("key")}
    given = {name: real.get(digest(value.partition(":")[2] or value)) for name, value in files.items()}
    return {name: value or files[name] for name, value in given.items() if value or "bvk_" not in files[name]}
