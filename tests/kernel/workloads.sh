#!/bin/sh
# workloads.sh <tutti-stamp or tutti-swarm>...: programs that check their results, under the policies that wait in the
# kernel. The scheduler has held some of their losers in the end, as it prints when it gets SIGUSR1.
for policy in serialize-kernel serialize-soft-kernel; do
    for program in "$@"; do
        case $program in
            *tutti-stamp) TUTTI_POLICY=$policy "$program" intruder --quick --threads 3 || exit 1 ;;
            *tutti-swarm) "$program" --policy "$policy" --seconds 1 --mode visible --threads 3 || exit 1 ;;
        esac
    done
done
