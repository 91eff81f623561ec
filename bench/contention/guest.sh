#!/usr/bin/env bash
# guest.sh module|scheduler <program>...: boots a guest with one processor and the given support for losers of
# conflicts. QEMU counts the guest's instructions instead of time. Standard input has commands, one a line, that the
# guest runs (console.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=scripts/common.sh
source scripts/common.sh
# shellcheck source=scripts/kernel.sh
source scripts/kernel.sh
# shellcheck source=scripts/scheduler.sh
source scripts/scheduler.sh

serves=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
{
    case $serves in
        module)
            release=$(kernel_releases | head -n 1)
            kernel_module "$release"
            kernel_image "$release"
            guest_files "$root" "$release"
            echo "sh /console.sh" >"$root/tests"
            ;;
        scheduler)
            scheduler_library
            release=$(scheduler_release)
            scheduler_image "$release"
            scheduler_program no_fault
            guest_files "$root" "$release"
            cp tests/kernel/serve.sh "$root"
            mkdir "$root/no_fault"
            cp "$scheduler_dir/no_fault"/* "$root/no_fault"
            with_libraries "$root" "$scheduler_dir/no_fault/tutti-scheduler"
            echo "sh /serve.sh no_fault well sh /console.sh" >"$root/tests"
            ;;
        *) die "there is no guest for '$serves'" ;;
    esac
    cp bench/contention/console.sh "$root"
    with_libraries "$root" "$@"
} >&2
# shellcheck disable=SC2034  # guest's
machine='-smp 1 -icount shift=4,sleep=off'
guest "$root" "$release"
