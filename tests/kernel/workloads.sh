#!/bin/sh
# workloads.sh <test_kernel_policies, tutti-stamp or tutti-swarm>...: what uses the library under the scheduler, and checks
# its results: the tests of the policies that wait in the kernel, and programs under those.
for program in "$@"; do
    for policy in serialize-kernel serialize-soft-kernel; do
        case $program in
            *tutti-stamp) TUTTI_POLICY=$policy "$program" intruder --quick --threads 3 || exit 1 ;;
            *tutti-swarm) "$program" --policy "$policy" --seconds 1 --mode visible --threads 3 || exit 1 ;;
        esac
    done
    case $program in
        *test_kernel_policies) TUTTI_TEST_KERNEL=1 TUTTI_TEST_SCHEDULER=1 "$program" --gtest_brief=1 || exit 1 ;;
    esac
done
