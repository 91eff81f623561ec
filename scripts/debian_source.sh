#!/usr/bin/env bash
# debian_source.sh <package> <version> <folder>: Debian's source of that package in <folder>, as its authors have
# released it. apt's own lists and settings are left alone: this has a list of sources, a state and a cache of its own,
# in <folder>/../apt. Status 77: it cannot be had here, and why is said.
set -euo pipefail

package=$1
version=$2
folder=$3

cannot() {
    echo "the source of $package cannot be had here: $*" >&2
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

parent=$(dirname "$folder")
mkdir -p "$parent/apt"/{parts,state,lists/partial,cache/archives/partial}
parent=$(cd "$parent" && pwd)
folder=$parent/$(basename "$folder")
cat >"$parent/apt/parts/source.sources" <<END
Types: deb-src
URIs: $mirror
Suites: bookworm
Components: main
Signed-By: $keyring
END
cat >"$parent/apt/apt.conf" <<END
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$parent/apt/parts";
Dir::State "$parent/apt/state";
Dir::State::Lists "$parent/apt/lists";
Dir::State::status "$parent/apt/status";
Dir::Cache "$parent/apt/cache";
APT::Sandbox::User "root";
Acquire::Retries "3";
END
cd "$parent"
: >apt/status # no binary package that is installed decides which version is meant
export APT_CONFIG=$parent/apt/apt.conf
log=$parent/apt/$package.log
# A list that has been had serves every package.
if ! compgen -G "$parent/apt/lists/*_Sources*" >/dev/null; then
    timeout 120 apt-get -q update >"$log" 2>&1 || cannot "apt-get update failed, see $log"
fi
mkdir -p "apt/$package"
cd "apt/$package"
timeout 120 apt-get -q source --download-only --tar-only "$package=$version" >>"$log" 2>&1 ||
    cannot "apt-get source $package=$version failed, see $log"
# What is interrupted leaves nothing where the source is looked for.
rm -rf "$folder" "$folder.unpacking"
mkdir "$folder.unpacking"
tar xf "$(compgen -G "${package}_*.tar.*")" -C "$folder.unpacking" --strip-components=1
mv "$folder.unpacking" "$folder"
