#!/usr/bin/env bash
# scheduler.sh <test_kernel_scheduler> [program]...: boots guests whose scheduler is the sched_ext program, and runs
# tests in them. The other programs check their results under the policies that use the scheduler. Then the guests run
# without each step of kernel/scheduler/fault_injection.h in turn, and a test has to fail.
#
# Timed tests have one processor, and QEMU counts its instructions instead of time, so other work of this machine does
# not show. Guests with two processors use this machine's time. If QEMU counted, it would run one processor at a time. A
# processor that calls sched_yield() repeatedly would then block the other for seconds to minutes of the guest's time,
# even under the kernel's own scheduler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=scripts/common.sh
source scripts/common.sh
# shellcheck source=scripts/kernel.sh
source scripts/kernel.sh
# shellcheck source=scripts/scheduler.sh
source scripts/scheduler.sh
# shellcheck source=tests/kernel/skipping.sh
source tests/kernel/skipping.sh

program=$1
with_packages qemu-system-x86 busybox-static cpio "${packages_scheduler[@]}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scheduler_library >"$work/log" 2>&1 || skip "no libbpf that is new enough can be fetched: $(tail -n 1 "$work/log")"
release=$(scheduler_release 2>"$work/log") || release=
[[ -n $release ]] || skip "Debian's backports cannot be asked for a kernel"
scheduler_image "$release" >"$work/log" 2>&1 || skip "the kernel $release cannot be fetched: $(tail -n 1 "$work/log")"

# in_guest <processors> <fault>...: boots a guest with these builds, and runs the lines of standard input.
in_guest() {
    local processors=$1 fault root=$work/root
    shift
    rm -rf "$root"
    guest_files "$root" "$release"
    cp tests/kernel/serve.sh tests/kernel/workloads.sh "$root"
    with_libraries "$root" "${programs[@]}"
    for fault in "$@"; do
        scheduler_program "$fault" || die "the scheduler does not build"
        mkdir -p "$root/$fault"
        cp "$scheduler_dir/$fault"/* "$root/$fault"
        with_libraries "$root" "$scheduler_dir/$fault/tutti-scheduler"
    done
    cat >"$root/tests"
    machine="-smp $processors"
    [[ $processors != 1 ]] || machine+=' -icount shift=4,sleep=off'
    guest "$root" "$release" </dev/null | tee "$work/output"
    grep -q '^guest: all is well' "$work/output"
}

programs=("$@")
increments="env TUTTI_TEST_KERNEL=1 ${2:-$program} --gtest_brief=1 --gtest_repeat=10 --gtest_filter=*increment"
# The test that has to notice the fault.
declare -A notices=(
    [free_extension]=gains_no_time
    [endless_extension]=gains_no_time
    [ahead_of_time]=when_the_transaction_requests
    [no_release]=until_the_commit
    [no_wait]=until_the_commit
    [same_weight]=deferring_loser_gets_less
    [ignores_ends]=ends_with_the_winners_thread
    [deaf_to_signals]=a_signal_ends
    [one_map_for_all]=garbage
)
{
    echo "sh /serve.sh no_fault well $program --gtest_brief=1 --gtest_filter=scheduler.*"
    for fault in "${!notices[@]}"; do
        echo "sh /serve.sh $fault ill $program --gtest_brief=1 --gtest_filter=scheduler.*${notices[$fault]}*"
    done
} | in_guest 1 no_fault "${!notices[@]}"
in_guest 2 no_fault moves_inside stays_when_preempted <<END
sh /serve.sh no_fault well $program --gtest_brief=1 --gtest_filter=processors.*
sh /serve.sh no_fault well sh /workloads.sh ${*:2}
sh /serve.sh no_fault killed $increments
sh /serve.sh no_fault less $increments
sh /serve.sh no_fault more $increments
sh /serve.sh moves_inside ill $program --gtest_brief=1 --gtest_filter=processors.a_preempted_thread*
sh /serve.sh moves_inside ill $program --gtest_brief=1 --gtest_filter=processors.a_woken_thread*
sh /serve.sh stays_when_preempted ill $program --gtest_brief=1 --gtest_filter=processors.an_idle_processor*
END
