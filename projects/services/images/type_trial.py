"""Tries the image of an agent type: hardened like agents, with dummy credentials, against fake servers."""

import secrets
from collections.abc import Mapping
from threading import BoundedSemaphore, Lock
from typing import Any, NamedTuple

from django.conf import settings as django_settings

from containers.agent_contract import SecretFile
from containers.engine.trials import TRIAL_LABEL, TrialRun
from containers.errors import EngineError, EngineUnavailableError, ImageMissingError
from containers.get_engine import get_engine
from containers.identity import helper_labels, installation_id
from containers.processes.side_work import do_side_by_side
from containers.trial_servers.constants import PORT, PROVIDER, TELEGRAM
from containers.vocabulary import ContainerSpec
from projects.errors import UnusableSettingsError
from projects.models import AgentType
from projects.models.agent_user import base_of
from projects.rules.settings.berth_settings import PROVIDERS
from projects.rules.sizes import MIB
from projects.rules.type_facts import ANY_PROVIDER, read_default_models
from projects.rules.type_trial import STOP_WITHIN, Line, Runs, TrialConditions, Verdict, judge_runs
from projects.services.container_spec import variables_of

WITHIN_REQUEST = 14.0
"""Seconds for an image to become ready and answer while a user waits for the page. Starting the servers and stopping
the image may take 15 more, and a proxy waits for 60."""

ITS_END = 60.0
"""Extra seconds for each trial that runs alongside others: more than its servers and its end take."""

LONGEST = 500.0
"""The maximum of `within` in seconds, because the remains of a trial are removed ten minutes after it began."""

GOING_ON = "Another trial is going on. Try again when it is over: it takes less than a minute."
_one_at_a_time = Lock()

_BASE = f"http://127.0.0.1:{PORT}"
_ONE_CPU = 1_000_000_000
_PIDS = 128


class _Credentials(NamedTuple):
    token: str
    key: str


def try_type(*, agent_type: AgentType, within: float, settings: Mapping[str, Any] | None = None) -> list[Line]:
    """Returns the contract's table for this type's image, with a line for each promise.

    `within` is how many seconds it has to become ready and answer, at most `LONGEST`. `settings` are a project's
    settings; those with a default in the schema may be left out. Raises `EngineError` and `UnusableSettingsError`.
    """
    found = get_engine().describe_image(agent_type.image)
    if found is None:
        raise ImageMissingError(f"The image {agent_type.image} is not on the engine. Images are never pulled.")
    good, bad = _make_credentials(), _make_credentials()
    user = django_settings.BERTH_UID_BASE or base_of(installation_id())
    spec = _build_spec(agent_type, dict(settings or {}), good, user=user)
    runs = _run_all(agent_type, spec, good, bad, within=within)
    conditions = TrialConditions(
        within=within,
        user=user,
        secrets=(*good, *bad),
        has_contract=found.has_contract,
        needs_telegram_token=agent_type.needs_telegram_token,
    )
    return judge_runs(runs, conditions)


def try_in_request(agent_type: AgentType) -> dict[str, Any]:
    """Tries the image within the time of a request. Returns the lines and whether all are kept, or why there are none.

    Each process runs one trial at a time, because its other requests need its threads.
    """
    if not _one_at_a_time.acquire(blocking=False):
        return {"refusal": GOING_ON}
    try:
        lines = try_type(agent_type=agent_type, within=WITHIN_REQUEST)
    except (EngineError, UnusableSettingsError) as error:
        return {"refusal": str(error)}
    finally:
        _one_at_a_time.release()
    return {"lines": lines, "is_kept": keeps_contract(lines), "within": WITHIN_REQUEST}


def keeps_contract(lines: list[Line]) -> bool:
    return all(line.verdict is not Verdict.BROKEN for line in lines)


def _make_credentials() -> _Credentials:
    token = f"{secrets.randbelow(9 * 10**9) + 10**9}:{secrets.token_urlsafe(26)[:35]}"
    return _Credentials(token, f"sk-trial-{secrets.token_hex(16)}")


def _build_spec(
    agent_type: AgentType, own_settings: dict[str, Any], given: _Credentials, *, user: int
) -> ContainerSpec:
    if agent_type.pairs_people:
        own_settings = {"allowed_users": ["*"]} | own_settings
    files = _files_of(agent_type, given)
    environment = variables_of(
        agent_type,
        own_settings,
        str(own_settings.get("provider") or _choose_provider(agent_type)),
        bases=(f"{_BASE}{TELEGRAM}", f"{_BASE}{PROVIDER}"),
        virtual=files,
    )
    return ContainerSpec(
        name=f"{django_settings.BERTH_INSTANCE}-trial",
        image=agent_type.image,
        labels=helper_labels(TRIAL_LABEL),
        generation=0,
        environment=environment,
        secrets={file.value: value for file, value in files.items()},
        memory=agent_type.min_memory_mb * MIB,
        nano_cpus=_ONE_CPU,
        pids=_PIDS,
        stop_timeout=agent_type.stop_timeout,
        user=user,
    )


def _files_of(agent_type: AgentType, given: _Credentials) -> dict[SecretFile, str]:
    needed = {SecretFile.TELEGRAM_BOT_TOKEN: agent_type.needs_telegram_token}
    needed[SecretFile.AGENT_API_KEY] = agent_type.needs_api_key
    values = dict(zip(needed, given, strict=True))
    return {file: values[file] for file, is_needed in needed.items() if is_needed}


def _choose_provider(agent_type: AgentType) -> str:
    """Returns a provider for which the type has a model."""
    named = read_default_models(agent_type.default_models)
    return "openai" if not named or ANY_PROVIDER in named else next(name for name in PROVIDERS if name in named)


def _run_all(
    agent_type: AgentType, spec: ContainerSpec, good: _Credentials, bad: _Credentials, *, within: float
) -> Runs:
    """Runs the trials at the same time, because each mostly waits for its agent. The spec has the good credentials.

    If one fails, the error is raised only after the others have ended, so that the next trial does not overlap them.
    """
    wanted = [good]
    if agent_type.needs_telegram_token:
        wanted.append(_Credentials(bad.token, good.key))
    if agent_type.needs_api_key:
        wanted.append(_Credentials(good.token, bad.key))

    def run(accepted: _Credentials) -> TrialRun:
        token, key = accepted
        return get_engine().try_image(spec, token=token, key=key, within=within, grace=STOP_WITHIN)

    try:
        others = do_side_by_side(
            run,
            wanted,
            places=BoundedSemaphore(len(wanted)),
            most=len(wanted),
            within=within + ITS_END,
            after_error=within + ITS_END,
        )
    except TimeoutError as error:
        raise EngineUnavailableError("The trial did not end in time.") from error
    well = others.pop(0)
    bad_token = others.pop(0) if agent_type.needs_telegram_token else None
    return Runs(well, bad_token, others.pop(0) if agent_type.needs_api_key else None)
