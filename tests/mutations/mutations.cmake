# Each line is a test that has to fail with a fault. The tests fail in every schedule, because the transactions
# synchronize inside their bodies, or because only one thread takes part. tests/interleaving/faults_test.cpp has the
# faults that only a scheduler finds.

set(optimistic ${TUTTI_ALGORITHMS})
list(REMOVE_ITEM optimistic serial global-lock) # one transaction at a time: they do not validate
set(with_orecs ${optimistic})
list(REMOVE_ITEM with_orecs norec)

tutti_mutation(skip_validation anomaly_write_skew *.does_not_occur_after_both_have_read/optimistic ${optimistic})
tutti_mutation(skip_validation anomaly_phantom *.is_not_inserted_into_a_read_range/optimistic ${optimistic})
tutti_mutation(extend_without_validation anomaly_zombie *.never_continues_after_a_conflicting_commit/optimistic
               ${optimistic})
tutti_mutation(privatize_without_waiting anomaly_privatization_race *.does_not_occur_after_a_hand_over/optimistic
               ${with_orecs})
tutti_mutation(receive_without_waiting anomaly_privatization_race *.does_not_occur_after_a_hand_over/optimistic
               ${with_orecs})
tutti_mutation(trust_overwritten_reads anomaly_privatization_race
               *.does_not_occur_after_an_overwritten_hand_over/optimistic
               ${with_orecs})
tutti_mutation(ignore_visible_readers anomaly_visible_readers of/marked_reads_test.*/irrevocable ${with_orecs})
tutti_mutation(reclaim_without_waiting anomaly_reclamation *.waits_for_the_reader/optimistic ${optimistic})
tutti_mutation(roll_back_too_little anomaly_partial_roll_back *.handles_alternatives ${with_orecs})
tutti_mutation(move_snapshot_without_notice anomaly_partial_roll_back *.notifies_participants_of_the_new_snapshot
               ${optimistic})
tutti_mutation(leave_dirty_memory anomaly_exceptions *.roll_back_and_leave_with_their_value/optimistic wt-etl serial)
tutti_mutation(commit_on_exception anomaly_exceptions *.roll_back_and_leave_with_their_value/optimistic
               ${TUTTI_ALGORITHMS})
tutti_mutation(leak_allocations anomaly_allocation_leak_on_abort *.frees_allocations_after_a_cancel/optimistic)
tutti_mutation(keep_nested_writes anomaly_nesting_leaks *.do_not_occur_for_writes/optimistic ${optimistic})
tutti_mutation(reverse_handlers anomaly_handler_order *.is_as_registered_at_commit/optimistic)
tutti_mutation(skip_vote anomaly_participants *.abort_if_one_vetoes/optimistic)
tutti_mutation(let_readers_write anomaly_use_errors *.include_a_write_in_a_read_only_block)
tutti_mutation(prefer_the_younger rules_with_faults verdicts.*)
tutti_mutation(forget_descriptors rules_with_faults descriptors.*)

# tutti_mutation_of_crossings(<fault> <kind> [<option>...]): generated programs of one thread fail in that way.
function(tutti_mutation_of_crossings fault kind)
  tutti_command_test(
    NAME mutations.${fault}.crossings
    COMMAND $<TARGET_FILE:tutti-crossings> --algorithm wb-etl --threads one --seconds 20 --tries 0
            ${ARGN}
    STATUS 1
    SAYS "${kind}"
    LABELS mutations release-only
    ENVIRONMENT LD_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR} TUTTI_FAULT=${fault})
endfunction()

tutti_mutation_of_crossings(interrupt_destructors "was interrupted from outside")
tutti_mutation_of_crossings(keep_abandoned_objects "leak: of values")
tutti_mutation_of_crossings(lose_handlers_of_destructors "blocks of destructors" --with object_brief)
