"""What the contract says of an engine and a Swarm does not do, and why."""

import pytest

_NETWORKS = "its tasks are on the network of their service, and nobody can take one from it or rename it"
_STATE = "what agents keep is on the nodes, where a manager reads and counts nothing"
_PAUSE = "its manager does not hear that somebody has paused a container"
_HEALTH = "it would end what is not healthy, so that services have no health check"
_GATEWAY = "the gateway of a Swarm has tests of its own"
_SECRETS = "it gives nobody back what a secret holds"
_NAMES = "the name of a service is all that it has: there are not two of one name or key"

DIFFERENCES = {
    "test_a_container_from_before_there_were_ids_is_taken_over_with_its_state": "there was none before there were ids",
    "test_a_container_that_runs_out_of_memory_says_so": "its manager is told the exit code, and not why",
    "test_a_former_container_of_the_same_deploy_is_adopted_as_it_is": "there was none before there were ids",
    "test_a_copy_takes_the_place_of_a_state_and_stays_until_it_is_dropped": _STATE,
    "test_a_paused_container_is_stopped": _PAUSE,
    "test_a_reader_that_leaves_early_leaves_nothing_behind": _STATE,
    "test_a_renamed_container_is_found_by_its_labels": _NAMES,
    "test_a_stop_that_takes_longer_than_its_caller_has_is_left_to_the_engine": (
        "an agent has as long for its end as its service says, and no stop can give it more"
    ),
    "test_a_volume_that_is_there_is_not_written_over": _STATE,
    "test_an_agent_whose_name_another_has_got_is_deployed_all_the_same": _NAMES,
    "test_an_error_while_they_are_read_leaves_it_all_there": _SECRETS,
    "test_before_the_log_and_the_credentials_go_they_can_be_read": _SECRETS,
    "test_events_come_in_order_and_end_when_nothing_happens": (
        "what comes and goes between two looks is not told (test_of_one_node.py)"
    ),
    "test_every_verb_finds_what_was_renamed_and_what_was_copied": _NAMES,
    "test_it_counts_many_files_that_hold_nothing_and_not_for_ever": _STATE,
    "test_it_is_the_same_each_time": _STATE,
    "test_it_says_how_much_an_agent_keeps_and_in_how_many_files": _STATE,
    "test_nobody_else_is_measured_and_nothing_is_left_behind": _STATE,
    "test_observe_in_doubt_says_the_same_of_a_container_that_is_as_listed": _HEALTH,
    "test_observe_says_of_a_healthy_container_only_that": _HEALTH,
    "test_observe_sees_the_same_as_inspect": _PAUSE,
    "test_of_two_containers_of_a_key_a_stop_leaves_none_running": _NAMES,
    "test_of_two_that_run_a_deploy_leaves_one": _NAMES,
    "test_quarantine_leaves_alone_what_carries_no_id": "there was none before there were ids",
    "test_the_list_shows_the_networks_of_a_healthy_container_too": _NETWORKS,
    "test_the_state_of_another_installation_is_not_read": _STATE,
    "test_a_deploy_says_whether_it_makes_the_state": _STATE,
    "test_volumes_are_listed_with_and_without_a_container": "credentials are in no volume",
    "test_what_is_missing_cannot_be_changed_back_and_is_no_error": _NETWORKS,
    "test_what_somebody_changed_is_seen_and_changed_back": _NETWORKS,
    "test_what_was_changed_while_it_was_down_is_changed_back_before_it_starts": _NETWORKS,
    "test_what_was_written_is_read_without_and_with_a_container": _STATE,
    "test_who_is_stopped_is_measured_too_and_who_keeps_nothing_takes_nothing": _STATE,
    "test_without_the_image_it_is_refused": _STATE,
}
"""By the names of tests."""

MODULES = {"tests.containers.test_gateway": _GATEWAY}


def skip_where_a_swarm_differs(request: pytest.FixtureRequest) -> None:
    name = str(request.node.originalname)
    reason = DIFFERENCES.get(name) or MODULES.get(str(request.module.__name__))
    if reason:
        pytest.skip(f"On a Swarm: {reason}")
