"""The page for a new project, and the pieces that it loads while the user fills it in."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from csp.decorators import csp_update
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from accounts.dashboard.decorators import counts_as
from accounts.http import SignedInRequest
from projects.api.idempotency import answer_once
from projects.credentials.verification import sentence_of
from projects.dashboard.content.steps import describe_pending_deploy, describe_steps, find_project_of_form
from projects.dashboard.forms.new_project import NewProjectForm, TokenForm
from projects.dashboard.own_projects import actor, own_projects
from projects.dashboard.refusals import REFUSALS, refused
from projects.models import Event, Project
from projects.models.rows.snapshot import take_snapshot
from projects.services import check_creation, create_project
from projects.services.commands.credential_preview import find_provider, look_at_token, offer_models

Page = Callable[[SignedInRequest], HttpResponse]


def piece(view: Page) -> Page:
    """Decorates the view of a piece of the page. A GET, for example after signing in again, redirects to the page."""

    def wrapped(request: SignedInRequest) -> HttpResponse:
        return view(request) if request.method == "POST" else redirect("projects:new")

    methods = require_http_methods(["GET", "HEAD", "POST"])
    return sensitive_post_parameters()(login_required(methods(wrapped)))


@csp_update({"img-src": ["data:"]})  # the bot's picture, whose real address contains the token
@counts_as("deploys")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
def new_project(request: SignedInRequest) -> HttpResponse:
    """Shows and handles the form. With htmx, returns a refused form alone, so that the page keeps the credentials."""
    sent = request.POST if request.method == "POST" else None
    form = NewProjectForm(request.user, sent, type_slug=request.GET.get("type", ""))
    if request.method != "POST":
        form.begin_with(_find_original(request))
        return render(request, "projects/new.html", {"form": form})
    form.loses_secrets = not request.htmx
    template = "projects/new_form.html" if request.htmx else "projects/new.html"
    if not form.is_valid():
        return render(request, template, {"form": form}, status=400)
    try:
        project_id = _deploy_once(request, form)
    except REFUSALS as error:
        form.refuse(error)
        return refused(request, template, {"form": form}, error)
    page = redirect("projects:show", project_id)
    return HttpResponseClientRedirect(page.url) if request.htmx else page


@counts_as("deploys")
@piece
def show_bot(request: SignedInRequest) -> HttpResponse:
    """Shows which bot has the token, as far as it is typed."""
    form = TokenForm(request.POST)
    page: dict[str, Any] = {}
    if form.is_valid() and (token := form.cleaned_data["telegram_token"]):
        try:
            looked_at = look_at_token(owner=request.user, telegram_token=token)
            page = looked_at._asdict() if looked_at else {}
        except REFUSALS as error:
            page = {"fault": str(error)}
    return render(request, "projects/bot_hint.html", page)


@counts_as("reads")
@piece
def show_provider(request: SignedInRequest) -> HttpResponse:
    """Shows the provider that the key looks like and its models, without asking the provider."""
    return render(request, "projects/key_hint.html", _describe_key(request))


@counts_as("reads")
@piece
def show_settings(request: SignedInRequest) -> HttpResponse:
    """Shows the settings of another type and the plans that suit it, and keeps typed values if possible."""
    form = NewProjectForm(request.user, type_slug=request.POST.get("type", ""))
    form.fill_in_typed(request.POST)
    return render(request, "projects/type_settings.html", {"form": form, "out_of_band": True, **_describe_key(request)})


@counts_as("deploys")
@piece
def check_form(request: SignedInRequest) -> HttpResponse:
    """Shows the result of a dry run."""
    form, check = NewProjectForm(request.user, request.POST), None
    form.loses_secrets = False
    if form.is_valid():
        try:
            check = check_creation(owner=request.user, wanted=form.build(uuid4()))
        except REFUSALS as error:
            form.refuse(error)
    return render(request, "projects/check_result.html", {"form": form, "check": check})


@login_required
@require_safe
def show_deploy(request: SignedInRequest) -> HttpResponse:
    """Shows the progress of a form's deploy while its response is still pending."""
    project = find_project_of_form(request.user, _key(_read_id(request, "form")))
    steps = describe_steps(take_snapshot(project)) if project else describe_pending_deploy()
    return render(request, "projects/deploy_steps.html", {"steps": steps})


def _describe_key(request: SignedInRequest) -> dict[str, Any]:
    form = NewProjectForm(request.user, type_slug=request.POST.get("type", ""))
    chosen = request.POST.get("provider", "").strip('"')
    provider = find_provider(api_key=request.POST.get("api_key", "").strip(), chosen=chosen)
    if form.asked_type is None:
        return {"provider": provider}
    plan = next((plan for plan in form.plans if plan.slug == request.POST.get("plan")), None)
    default, models = offer_models(agent_type=form.asked_type, plan=plan, provider=provider)
    return {"provider": provider, "default_model": default, "models": models}


def _find_original(request: SignedInRequest) -> Project | None:
    """Returns the owner's project to copy, if the address names one."""
    original_id = _read_id(request, "from")
    return own_projects(request).filter(pk=original_id).first() if original_id else None


def _read_id(request: SignedInRequest, parameter: str) -> UUID | None:
    try:
        return UUID(request.GET.get(parameter, ""))
    except ValueError:
        return None


def _key(form_id: UUID | None) -> str:
    return f"page {form_id}"


def _deploy_once(request: SignedInRequest, form: NewProjectForm) -> UUID:
    """Returns the id of this form's project. Deploys it only the first time that the form is sent."""

    def deploy(project_id: UUID) -> dict[str, str]:
        if not Project.objects.owned_by(request.user).filter(pk=project_id).exists():
            project = create_project(owner=request.user, wanted=form.build(project_id), actor=actor(request))
            messages.success(request, f"“{project.name}” is deployed.")
            for event in Event.objects.filter(project_id=project_id, outcome="warning").order_by("pk"):
                messages.warning(request, sentence_of(event.detail))
        return {"id": str(project_id)}

    key = _key(form.cleaned_data["id"])
    answer = answer_once(owner=request.user, key=key, body=form.serializer.initial_data, make=deploy)
    return UUID(answer.body["id"])
