#!/usr/bin/env bash
# bench.sh <folder of the programs>: `./dev bench policies --guest module`, without the build and as short as possible.
# The guest boots, runs the commands from its console, and ends; its output makes a table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=scripts/common.sh
source scripts/common.sh
# shellcheck source=scripts/kernel.sh
source scripts/kernel.sh
# shellcheck source=tests/kernel/skipping.sh
source tests/kernel/skipping.sh

with_packages "${packages_kernel[@]}"
release=$(kernel_releases | head -n 1)
kernel_image "$release" || skip "the package linux-image-$release cannot be fetched"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
python3 -B bench/contention policies --bin "$1" --out "$out" --guest module --quick --programs intruder \
    --policies backoff,serialize-kernel --threads 1,2
python3 -B bench/contention report "$out/policies.json" | tee "$out/table"
# Both policies, each with a time for both numbers of threads.
for policy in backoff serialize-kernel; do
    grep -qE "^ *$policy( +[0-9.]+[0-9]){2}" "$out/table"
done
