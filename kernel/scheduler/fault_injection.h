/* SPDX-License-Identifier: GPL-2.0 */
/* Steps that tests leave out, to check that the tests notice: -DTUTTI_FAULT=<one of these>. */
#ifndef TUTTI_FAULT_INJECTION_H
#define TUTTI_FAULT_INJECTION_H

enum fault {
	no_fault,
	free_extension,		/* the time that a thread runs beyond its slice is not charged */
	endless_extension,	/* one extension follows another */
	ahead_of_time,		/* a turn is extended before the transaction's `extend_from_ns` */
	moves_inside,		/* a thread moves to another processor inside a transaction */
	stays_when_preempted,	/* a preempted thread stays on its processor while another one is idle */
	no_release,		/* a wait ends at its time limit, not with the winner's transaction */
	no_wait,		/* the loser does not wait */
	same_weight,		/* a loser that defers keeps its weight */
	ignores_ends,		/* the transaction of a thread that has ended is not removed */
	deaf_to_signals,	/* a signal does not end a wait */
	one_map_for_all,	/* all programs share one map */
};

#ifndef TUTTI_FAULT
#define TUTTI_FAULT no_fault
#endif
#define injected(f) (TUTTI_FAULT == (f))

#endif
