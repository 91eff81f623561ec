/* SPDX-License-Identifier: GPL-2.0 */
/* Steps that tests leave out, to see that they notice: -DTUTTI_FAULT=<one of them>. */
#ifndef TUTTI_FAULTS_H
#define TUTTI_FAULTS_H

enum fault {
	no_fault,
	free_extension,		/* what a thread runs beyond its slice is not charged */
	endless_extension,	/* one extension follows the other */
	ahead_of_time,		/* a turn is longer for a transaction whose time has not come */
	moves_inside,		/* a thread moves to another processor inside a transaction */
	no_release,		/* a wait ends with its time, not with the transaction */
	no_wait,		/* the loser runs on */
	same_weight,		/* the loser that runs on does so as before */
	ignores_ends,		/* a thread that has ended has its transaction still */
	deaf_to_signals,	/* a wait does not end with a signal */
	one_map_for_all,	/* all programs share one */
};

#ifndef TUTTI_FAULT
#define TUTTI_FAULT no_fault
#endif
#define broken(f) (TUTTI_FAULT == (f))

#endif
