#!/usr/bin/env bash
# fetch.sh <folder>: downloads and configures Debian's source of memcached 1.6.18 in <folder>/source. Exits with status
# 77 if the source is not available here.
set -euo pipefail

folder=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[[ ! -e $folder/source/Makefile ]] || exit 0

"$here/../../scripts/debian_source.sh" memcached 1.6.18-1 "$folder/unpacked"
cd "$folder/unpacked"
# External storage is on disk, and not part of the conversion.
./configure --disable-extstore --disable-coverage >configure.log 2>&1 || {
    tail -n 20 configure.log >&2
    echo "fetch.sh: memcached cannot be configured" >&2
    exit 1
}
make timedrun sizes >make.log 2>&1
cd ..
rm -rf source
mv unpacked source
