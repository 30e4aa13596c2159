"""The page on which an owner creates links to pair people with an agent."""

from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts.http import SignedInRequest
from projects.dashboard.own_projects import actor, own_project
from projects.dashboard.refusals import act_on_form
from projects.rules.pairing import PairingMode
from projects.services import make_pairing_link
from projects.services.commands.update import check_may_be_changed


class PairingForm(forms.Form):
    mode = forms.ChoiceField(choices=PairingMode.choices)

    def refuse(self, error: Exception) -> None:
        self.add_error(None, str(error))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def pair(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Shows the page. A link is shown once, in the response to the form that created it."""
    project = own_project(request, project_id)
    form = PairingForm(request.POST if request.method == "POST" else None)

    def make() -> HttpResponse:
        mode = PairingMode(form.cleaned_data["mode"])
        link = make_pairing_link(project=project, mode=mode, actor=actor(request))
        return render(request, "projects/pairing.html", {"project": project, "form": form, "link": link})

    return act_on_form(request, "projects/pairing.html", project, form, check=check_may_be_changed, act=make)
