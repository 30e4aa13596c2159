"""The pages of the projects."""

from django.urls import path
from django.views.generic import RedirectView

from projects.dashboard.views import (
    account,
    alerts,
    charts,
    events,
    images,
    lists,
    live,
    logs,
    memory,
    new_project,
    pairing,
    project,
    usage,
)

app_name = "projects"
urlpatterns = [
    path("", lists.list_projects, name="list"),
    path("projects", RedirectView.as_view(pattern_name="projects:list", query_string=True)),
    path("settings/export", account.export_data, name="export"),
    path("settings/delete", account.remove_account, name="delete-account"),
    path("projects/changes", lists.list_changes, name="changes"),
    path("projects/curves", lists.list_curves, name="curves"),
    path("projects/bulk", lists.act_on_many, name="bulk"),
    path("projects/new", new_project.new_project, name="new"),
    path("projects/new/bot", new_project.show_bot, name="new-bot"),
    path("projects/new/provider", new_project.show_provider, name="new-provider"),
    path("projects/new/settings", new_project.show_settings, name="new-settings"),
    path("projects/new/check", new_project.check_form, name="new-check"),
    path("projects/new/steps", new_project.show_deploy, name="new-steps"),
    path("settings/alerts", alerts.show_alerts, name="alerts"),
    path("settings/alerts/<str:way>", alerts.change_alerts, name="change-alerts"),
    path("projects/<uuid:project_id>", project.show_project, name="show"),
    path("projects/<uuid:project_id>/changes", live.show_changes, name="project-changes"),
    path("projects/<uuid:project_id>/control", project.control, name="control"),
    path("projects/<uuid:project_id>/steps", project.show_steps, name="steps"),
    path("projects/<uuid:project_id>/telegram.svg", project.draw_link, name="telegram"),
    path("projects/<uuid:project_id>/log", logs.follow_log, name="log"),
    path("projects/<uuid:project_id>/log.txt", logs.download_log, name="log-file"),
    path("projects/<uuid:project_id>/events.csv", events.download_events, name="events-csv"),
    path("projects/<uuid:project_id>/change", project.change_project, name="change"),
    path("projects/<uuid:project_id>/charts", charts.show_charts, name="charts"),
    path("projects/<uuid:project_id>/usage", usage.show_usage, name="usage"),
    path("projects/<uuid:project_id>/usage.csv", usage.download_usage, name="usage-csv"),
    path("projects/<uuid:project_id>/budget", usage.change_budget, name="budget"),
    path("projects/<uuid:project_id>/people", pairing.pair, name="pairing"),
    path("projects/<uuid:project_id>/memory", memory.clear_project_memory, name="memory"),
    path("projects/<uuid:project_id>/update", images.update_image, name="update"),
    path("projects/<uuid:project_id>/delete", project.remove_project, name="delete"),
]
