#!/usr/bin/env bash
# debian_source.sh <package> <version> <folder>: downloads Debian's source of that package into <folder>, as released by
# its authors. apt's own lists and settings are not changed: this script has its own source list, state and cache, in
# <folder>/../apt. Exits with status 77 and a message if the source is not available here.
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

# Uses the mirror of this machine's apt.
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
: >apt/status # installed binary packages must not influence which version is chosen
export APT_CONFIG=$parent/apt/apt.conf
log=$parent/apt/$package.log
# A list that was downloaded once serves every package.
if ! compgen -G "$parent/apt/lists/*_Sources*" >/dev/null; then
    timeout 120 apt-get -q update >"$log" 2>&1 || cannot "apt-get update failed, see $log"
fi
mkdir -p "apt/$package"
cd "apt/$package"
timeout 120 apt-get -q source --download-only --tar-only "$package=$version" >>"$log" 2>&1 ||
    cannot "apt-get source $package=$version failed, see $log"
# An interrupted download must not leave an incomplete source folder.
rm -rf "$folder" "$folder.unpacking"
mkdir "$folder.unpacking"
tar xf "$(compgen -G "${package}_*.tar.*")" -C "$folder.unpacking" --strip-components=1
mv "$folder.unpacking" "$folder"
