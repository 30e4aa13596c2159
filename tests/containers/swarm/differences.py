"""Which tests of the engine contract a Swarm does not pass, and why."""

import pytest

_NETWORKS = "its tasks are on the network of their service, and nobody can take one from it or rename it"
_STATE = "what agents keep is on the nodes, where a manager reads nothing"
_PAUSE = "its manager does not hear that somebody has paused a container"
_HEALTH = "it would end what is not healthy, so that services have no health check"
_GATEWAY = "the gateway of a Swarm has tests of its own"
_SECRETS = "it gives nobody back what a secret holds"
_NAMES = "the name of a service is all that it has: there are not two of one name or key"

DIFFERENCES = {
    "test_a_container_from_before_ids_is_adopted_with_its_state": "there was none before there were ids",
    "test_a_container_that_ran_out_of_memory_shows_it": "its manager is told the exit code, and not why",
    "test_a_former_container_of_the_same_deploy_is_adopted_as_it_is": "there was none before there were ids",
    "test_a_known_run_without_a_health_check_is_only_listed": _HEALTH,
    "test_a_known_run_that_does_not_go_on_is_inspected": _PAUSE,
    "test_a_paused_container_is_stopped": _PAUSE,
    "test_a_reader_that_leaves_early_leaves_nothing_behind": _STATE,
    "test_a_renamed_container_is_found_by_its_labels": _NAMES,
    "test_a_stop_longer_than_the_caller_s_time_is_left_to_the_engine": (
        "an agent has as long for its end as its service says, and no stop can give it more"
    ),
    "test_a_volume_that_is_there_is_not_written_over": _STATE,
    "test_an_agent_whose_name_is_taken_is_still_deployed": _NAMES,
    "test_an_error_during_reading_removes_nothing": _SECRETS,
    "test_log_and_credentials_can_be_read_before_they_are_removed": _SECRETS,
    "test_events_come_in_order_and_end_when_nothing_happens": (
        "what comes and goes between two looks is not told (test_of_one_node.py)"
    ),
    "test_every_verb_finds_renamed_and_copied_containers": _NAMES,
    "test_a_state_is_identical_each_time": _STATE,
    "test_an_observation_in_doubt_is_the_same_for_a_container_as_listed": _HEALTH,
    "test_an_observation_of_a_healthy_container_has_only_its_health": _HEALTH,
    "test_observe_sees_the_same_as_inspect": _PAUSE,
    "test_a_stop_leaves_neither_of_two_containers_of_a_key_running": _NAMES,
    "test_a_deploy_leaves_one_of_two_running_containers": _NAMES,
    "test_a_copy_that_does_not_run_is_removed_beside_the_running_agent": _NAMES,
    "test_of_two_containers_that_run_or_do_not_run_none_is_removed_as_a_spare": _NAMES,
    "test_quarantine_ignores_containers_without_an_id": "there was none before there were ids",
    "test_the_list_shows_the_networks_of_a_healthy_container_too": _NETWORKS,
    "test_the_state_of_another_installation_is_not_read": _STATE,
    "test_a_deploy_reports_whether_it_created_the_state": _STATE,
    "test_volumes_are_listed_with_and_without_a_container": "credentials are in no volume",
    "test_reverting_a_missing_container_is_no_error": _NETWORKS,
    "test_manual_changes_are_detected_and_reverted": _NETWORKS,
    "test_changes_made_while_stopped_are_reverted_before_the_start": _NETWORKS,
    "test_a_written_state_is_read_with_and_without_a_container": _STATE,
    "test_without_the_image_reading_is_refused": _STATE,
}
"""The reasons, by the names of the tests."""

MODULES = {"tests.containers.test_gateway": _GATEWAY}


def skip_where_a_swarm_differs(request: pytest.FixtureRequest) -> None:
    name = str(request.node.originalname)
    reason = DIFFERENCES.get(name) or MODULES.get(str(request.module.__name__))
    if reason:
        pytest.skip(f"On a Swarm: {reason}")
