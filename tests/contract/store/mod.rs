//! What the store promises, asked of the twin and of a real Redis.

mod agent;
mod cancel;
mod circuits;
mod claims;
mod commits;
mod executions;
mod exhausted;
mod family;
mod origins;
mod redis_alone;
mod run_ends;
mod runs;
mod same_story;
mod sessions;
mod supervision;
mod verdicts;
mod waits;
mod world;

use world::{RedisWorld, TwinWorld};

/// Asks every world to keep these promises; each one starts with an empty store.
macro_rules! promises {
    ($($area:ident: $($promise:ident),+ $(,)?;)+) => {
        mod the_twin {
            $($(#[tokio::test]
            async fn $promise() {
                super::$area::$promise(&super::TwinWorld::new()).await;
            })+)+
        }
        mod redis {
            $($(#[tokio::test]
            async fn $promise() {
                super::$area::$promise(&super::RedisWorld::start().await).await;
            })+)+
        }
        mod redis_call_by_partition {
            $($(#[tokio::test]
            async fn $promise() {
                super::$area::$promise(&super::RedisWorld::start_as_cluster().await).await;
            })+)+
        }
    };
}

promises! {
    claims:
        a_first_claim_is_granted,
        the_same_nonce_is_answered_alike_and_counts_no_attempt,
        a_live_owner_keeps_its_claim_even_against_itself,
        another_payload_under_the_same_id_is_a_conflict_for_good,
        an_expired_session_is_taken_over_and_its_commit_is_lost,
        two_sessions_that_race_for_a_hundred_requests_share_them,
        a_released_claim_counts_no_attempt,
        what_a_release_leaves_is_told_to_every_later_claim,
        a_release_with_another_nonce_changes_nothing,
        records_are_read_in_the_order_asked;
    exhausted:
        a_request_that_took_all_its_workers_down_is_granted_as_exhausted_and_counts_no_attempt,
        an_exhausted_claim_is_fenced_and_committed_like_any_other,
        an_exhausted_request_stays_exhausted_when_its_undertaker_dies_or_gives_it_back,
        what_was_given_back_does_not_exhaust_a_request,
        an_exhausted_request_that_is_cancelled_says_so;
    commits:
        any_bytes_are_stored_as_they_are,
        a_repeated_commit_changes_nothing,
        a_settled_request_is_a_tombstone,
        settling_what_is_not_done_changes_nothing,
        a_correction_replaces_the_bytes_but_wakes_no_tombstone;
    cancel:
        a_cancel_before_the_commit_lets_only_a_cancelled_result_in,
        a_cancel_after_the_commit_is_too_late,
        a_cancel_before_any_claim_reaches_whoever_claims,
        a_cancel_outlives_its_owner,
        every_renewal_names_the_cancelled_until_they_end;
    sessions:
        a_session_that_is_gone_is_fenced_and_stays_gone,
        a_closed_session_frees_its_claims_at_once,
        an_emptied_store_voids_all_claims_and_changes_its_epoch,
        every_target_ever_served_is_known,
        the_time_of_day_is_told;
    supervision:
        one_leads_until_its_lease_ends,
        the_roster_tells_who_lives_and_who_answers,
        a_session_says_which_claims_it_has_and_under_which_nonce,
        each_session_says_what_it_serves_until_it_is_forgotten,
        a_target_was_served_or_never_was,
        an_evicted_session_is_fenced_and_gives_back_all_that_it_held,
        an_eviction_is_finished_by_whoever_comes_next,
        what_was_committed_before_the_death_stays;
    origins:
        a_child_knows_where_it_comes_from_whoever_claims_it_and_once_it_is_done,
        a_child_that_is_there_already_keeps_its_state_and_learns_its_origin,
        an_intended_child_that_is_cancelled_never_runs;
    waits:
        what_was_parked_is_owed_and_parking_it_again_changes_nothing,
        a_request_that_waits_has_no_owner_and_lets_nobody_in,
        the_child_that_ends_the_wait_wakes_its_parent_and_wakes_it_again_when_told_again,
        whoever_was_answered_while_it_still_had_the_request_goes_on_at_once,
        waiting_counts_no_attempt,
        a_resumed_request_drops_the_children_that_have_not_ended,
        a_slice_is_charged_until_its_child_ends_and_what_it_spent_from_then_on,
        a_cancel_tells_the_children_that_run_and_lets_the_next_claim_in,
        a_deadline_that_has_passed_lets_the_next_claim_in,
        what_is_due_is_told_with_the_reason_and_not_again_for_a_while,
        however_many_are_due_what_is_cancelled_is_told_at_once,
        only_the_owner_parks_lets_go_and_resumes,
        a_request_whose_result_is_there_waits_for_nothing_and_still_knows_its_children;
    runs:
        a_run_is_made_once_and_keeps_what_it_was_made_with,
        a_clean_run_of_four_steps_has_twelve_revisions_and_one_report,
        a_decision_is_accepted_and_carried_out_only_where_the_run_stands,
        a_pending_decision_outlives_its_worker_and_the_dead_write_nothing,
        what_a_run_spends_counts_with_what_its_children_may,
        a_run_waits_with_its_request_and_goes_on_with_it;
    run_ends:
        a_run_that_reaches_a_limit_of_its_own_is_stopped,
        a_run_that_reaches_what_its_tree_may_spend_is_stopped,
        a_run_that_nobody_has_under_way_is_cancelled_at_once_and_once,
        a_run_that_somebody_has_under_way_is_cancelled_when_its_request_ends,
        a_confirmed_report_cannot_be_cancelled,
        a_run_ends_as_its_agent_says_or_as_failed_when_its_request_ends_otherwise;
    verdicts:
        a_request_that_asks_for_a_verdict_waits_without_an_owner,
        a_verdict_lets_its_request_go_on_and_is_told_to_it,
        the_first_verdict_stands,
        a_verdict_is_about_this_request_and_asked_for,
        a_cancel_ends_the_wait_for_a_verdict,
        what_was_approved_may_wait_for_children_of_its_own,
        a_chain_is_found_by_its_id;
    executions:
        an_execution_is_begun_once_and_known_again,
        another_request_under_the_same_id_is_a_conflict,
        nobody_finds_or_lists_what_is_anothers,
        a_list_goes_on_where_it_was_left,
        what_is_not_listed_is_found_by_its_id_alone,
        the_oldest_of_very_many_are_listed_no_longer;
    circuits:
        more_than_half_of_at_least_ten_attempts_open_a_circuit,
        five_probes_are_let_through_and_no_sixth,
        three_probes_decide,
        a_neutral_probe_makes_room_for_another,
        probes_of_a_worker_that_died_have_failed_when_their_lease_ends,
        what_began_before_it_opened_says_nothing_when_it_ends,
        an_end_that_is_told_twice_counts_once,
        every_life_of_a_circuit_has_its_own_generation,
        a_servers_wish_is_everybodys,
        a_call_takes_from_every_limit_or_from_none,
        a_pass_that_asks_again_takes_nothing_more,
        what_was_not_spent_is_given_back_and_what_was_spent_beyond_is_owed,
        a_hundred_that_ask_at_once_share_what_there_is;
}
