#!/bin/sh
# workloads.sh <test_kernel_policies, tutti-stamp or tutti-swarm>...: runs programs that use the library with the
# kernel's help, and checks their results. The programs run under each policy that uses the kernel; under the scheduler,
# the tests of those policies run. No program may report that it works without the kernel.
served() {
    if ! "$@" 2>/tmp/complaints || grep -q '^tutti:' /tmp/complaints; then
        cat /tmp/complaints
        exit 1
    fi
}
for program in "$@"; do
    for policy in serialize-kernel serialize-soft-kernel deadline; do
        case $program in
            *tutti-stamp)
                for name in intruder vacation-high yada labyrinth; do
                    TUTTI_POLICY=$policy served "$program" $name --quick --threads 4
                done
                ;;
            *tutti-swarm) served "$program" --policy "$policy" --seconds 1 --mode visible --threads 3 ;;
        esac
    done
    case $program in
        *test_kernel_policies) TUTTI_TEST_KERNEL=1 TUTTI_TEST_SCHEDULER=1 "$program" --gtest_brief=1 || exit 1 ;;
    esac
done
