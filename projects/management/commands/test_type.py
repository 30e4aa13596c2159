import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from containers.errors import EngineError
from projects.errors import ProjectError
from projects.models import AgentType
from projects.rules.settings.berth_settings import fits_schema
from projects.rules.settings.json_documents import FormJSONDecoder, UnusableJSONError
from projects.rules.settings.schema import defaults_of
from projects.rules.type_trial import Line, Verdict
from projects.services.images.type_trial import LONGEST, keeps_contract, try_type

WITHIN = 60.0

_STYLES = {Verdict.KEPT: "SUCCESS", Verdict.BROKEN: "ERROR", Verdict.NOT_PROMISED: "NOTICE"}


class Command(BaseCommand):
    help = (
        "Start the image of an agent type as its agents are started, with dummy credentials and fake servers instead "
        "of Telegram and the provider, and print which promises of the agent contract it keeps. The exit code is 1 if "
        "it breaks one. No outside server is called, and nothing is left behind."
    )
    requires_current_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the slug of the agent type")
        about = "a project's settings, as the API takes them"
        parser.add_argument("--project-settings", default="{}", metavar="JSON", help=about)
        parser.add_argument("--within", type=float, default=WITHIN, metavar="SECONDS", help="to be ready and to answer")

    def handle(self, *args: Any, **options: Any) -> None:
        agent_type = AgentType.objects.filter(pk=options["slug"]).first()
        if agent_type is None:
            raise CommandError(f"There is no agent type {options['slug']}.")
        if not 0 < options["within"] <= LONGEST:
            raise CommandError(f"--within must be above 0 and at most {LONGEST:.0f} seconds.")
        settings = _read_settings(options["project_settings"], agent_type)
        try:
            lines = try_type(agent_type=agent_type, within=options["within"], settings=settings)
        except (EngineError, ProjectError) as error:
            raise CommandError(str(error)) from error
        for line in lines:
            self.stdout.write(self._format(line))
        if not keeps_contract(lines):
            raise CommandError(f"{agent_type.image} does not keep the contract.")

    def _format(self, line: Line) -> str:
        mark = getattr(self.style, _STYLES[line.verdict])(f"{line.verdict.value:<4}")
        return f"{mark} {line.promise}{': ' if line.detail else ''}{line.detail}"


def _read_settings(text: str, agent_type: AgentType) -> dict[str, Any]:
    try:
        found = json.loads(text, cls=FormJSONDecoder)
    except UnusableJSONError as error:
        raise CommandError(f"--project-settings cannot be used. {error}") from None
    except ValueError:
        raise CommandError("--project-settings is not JSON.") from None
    if not isinstance(found, dict) or not fits_schema(
        defaults_of(agent_type.settings_schema) | found, agent_type.settings_schema
    ):
        raise CommandError("The settings do not fit the schema of the type. Give them with --project-settings.")
    return found
