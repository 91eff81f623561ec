#!/usr/bin/env bash
# fetch.sh <folder>: Debian's source of memcached 1.6.18 in <folder>/source, configured. apt's own lists and settings
# are left alone: this has a list of sources, a state and a cache of its own. Status 77: it cannot be had here.
set -euo pipefail

version=1.6.18-1
folder=$1
[[ ! -e $folder/source/Makefile ]] || exit 0

cannot() {
    echo "memcached's source cannot be had here: $*" >&2
    exit 77
}
command -v apt-get >/dev/null || cannot "there is no apt-get; it comes from Debian 12 (bookworm)"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[[ -e $keyring ]] || cannot "$keyring is missing (package debian-archive-keyring)"

# From where this machine's apt has its packages.
# shellcheck disable=SC2016  # these are apt's
mirror=${TUTTI_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 2>/dev/null |
    sed -n 's/ bookworm$//p' | head -n 1)}
[[ -n $mirror ]] || cannot "apt knows no mirror of Debian 12 (bookworm); name one in TUTTI_DEBIAN_MIRROR"

mkdir -p "$folder/apt"/{parts,state,lists/partial,cache/archives/partial}
folder=$(cd "$folder" && pwd)
cat >"$folder/apt/parts/source.sources" <<EOF
Types: deb-src
URIs: $mirror
Suites: bookworm
Components: main
Signed-By: $keyring
EOF
cat >"$folder/apt/apt.conf" <<EOF
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$folder/apt/parts";
Dir::State "$folder/apt/state";
Dir::State::Lists "$folder/apt/lists";
Dir::Cache "$folder/apt/cache";
APT::Sandbox::User "root";
Acquire::Retries "3";
EOF
cd "$folder"
export APT_CONFIG=$folder/apt/apt.conf
apt-get -q update >apt.log 2>&1 || cannot "apt-get update failed, see $folder/apt.log"
apt-get -q source --download-only "memcached=$version" >>apt.log 2>&1 ||
    cannot "apt-get source memcached=$version failed, see $folder/apt.log"

rm -rf source unpacked
mkdir unpacked
tar xf "memcached_${version%-*}.orig.tar.xz" -C unpacked 2>/dev/null ||
    tar xf "memcached_${version%-*}.orig.tar.gz" -C unpacked
cd unpacked/*/
# External storage is on disk, and not part of the conversion.
./configure --disable-extstore --disable-coverage >configure.log 2>&1 || {
    tail -n 20 configure.log >&2
    echo "fetch.sh: memcached cannot be configured" >&2
    exit 1
}
make timedrun sizes >make.log 2>&1
cd "$folder"
mv unpacked/* source
rmdir unpacked
