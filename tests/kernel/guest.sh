#!/usr/bin/env bash
# guest.sh <what> <program>...: boots a guest that loads the module and runs these programs, as `what` selects below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=scripts/common.sh
source scripts/common.sh
# shellcheck source=scripts/kernel.sh
source scripts/kernel.sh
# shellcheck source=tests/kernel/skipping.sh
source tests/kernel/skipping.sh

what=$1 program=$2
shift
with_packages "${packages_kernel[@]}"
release=${TUTTI_KERNEL:-$(kernel_releases | head -n 1)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[[ $what == slices ]] || kernel_module "$release" >"$work/log" 2>&1 || {
    cat "$work/log"
    die "the module does not build for $release"
}
kernel_image "$release" || skip "the package linux-image-$release cannot be fetched"
guest_files "$work/root" "$release"
[[ $what != slices ]] || rm -f "$work/root/tutti.ko"
with_libraries "$work/root" "$@"

export_all='export TUTTI_TEST_KERNEL=1 TUTTI_TEST_EFFORT=0.05'
# The ticks of the tests; `ticks` is for tests that need more of them.
counted="TUTTI_TEST_KERNEL=1 $program --gtest_brief=1 --gtest_filter=*counted_ticks_test.*/0"
# Processors that run in parallel, so that a missing barrier shows.
accelerator=tcg,thread=multi
case $what in
    device)
        cat >"$work/root/tests" <<END
TUTTI_TEST_EFFORT=${TUTTI_TEST_EFFORT:-1} $program --gtest_brief=1
su other -s /bin/sh -c '! test -r /dev/tutti && ! test -w /dev/tutti'
END
        ;;
    unloading)
        # The module is loaded and unloaded while it is in use, which is refused, and while the kernel cleans up its
        # user. The kernel replaces its own instructions each time: guest() in scripts/kernel.sh explains why the
        # processors take turns.
        accelerator=tcg,thread=single
        cat >"$work/root/tests" <<END
for i in 1 2 3 4; do sh /busy.sh $program ticking && sh /busy.sh $program asleep || exit 1; done
END
        cp tests/kernel/busy.sh "$work/root/busy.sh"
        ;;
    instructions | extension)
        # An instruction takes 2**shift ns: the slower the processor, the fewer instructions a time slice has.
        machine='-smp 1 -icount shift=2,sleep=off'
        accelerator=tcg,thread=single # otherwise QEMU does not count
        # ftrace counts kernel_functions, and not every kernel has ftrace.
        filter='extension_test.*'
        [[ $what == extension ]] || filter+=':tick_instructions.*:kernel_functions.*'
        echo "TUTTI_TEST_ICOUNT=4 $program --gtest_filter=$filter" >"$work/root/tests"
        ;;
    preemption)
        # The second and later tick sources work here as on the build machine.
        cat >"$work/root/tests" <<END
$export_all; $program --gtest_brief=1 --gtest_filter=-every_instruction*:*one_of_four*:*counted*:sources/*/1:sources/*/2:sources/*/3
$export_all; $program --gtest_brief=1 --gtest_filter=every_instruction.*:*one_of_four_parts*/0
$counted
END
        ;;
    whole)
        # With all rounds, some tests take so long on a busy machine that a watchdog ends them.
        echo "TUTTI_TEST_KERNEL=1 TUTTI_TEST_EFFORT=${TUTTI_TEST_EFFORT:-0.3} $program --gtest_brief=1" >"$work/root/tests"
        ;;
    ticks)
        echo "TUTTI_TEST_EFFORT=${TUTTI_TEST_EFFORT:-1} $counted" >"$work/root/tests"
        ;;
    slices)
        # Whole time slices must pass, and the kernel's extension is 5 us by default.
        machine='-smp 1 -icount shift=4,sleep=off'
        accelerator=tcg,thread=single
        cat >"$work/root/tests" <<END
mount -t debugfs debug /sys/kernel/debug && echo 50000 >/sys/kernel/debug/rseq/slice_ext_nsec
GLIBC_TUNABLES=glibc.pthread.rseq=0 TUTTI_TEST_SLICES=1 $program --gtest_brief=1
END
        ;;
    policies)
        # /dev/null answers no version request.
        cat >"$work/root/tests" <<END
$export_all; $program --gtest_brief=1
mv /dev/tutti /dev/away; TUTTI_TEST_NO_DEVICE=1 $program --gtest_brief=1 --gtest_filter=*without_device*
ln -s null /dev/tutti; TUTTI_TEST_NO_DEVICE=1 $program --gtest_brief=1 --gtest_filter=*without_device*; mv /dev/away /dev/tutti
END
        echo "sh /workloads.sh ${*:2}" >>"$work/root/tests"
        cp tests/kernel/workloads.sh "$work/root"
        ;;
    *) die "there is no guest for '$what'" ;;
esac
guest "$work/root" "$release" </dev/null | tee "$work/output"
grep -q '^guest: all is well' "$work/output"
