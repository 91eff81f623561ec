#!/usr/bin/env bash
# staged.sh <root of the project> <build folder> <version>: checks that the packages contain every installed file, name
# no other files, and have the project's version. `./dev package` tests whether they can be built, which takes minutes.
set -euo pipefail
root=$1 build=$2 version=$3
work=$(mktemp -d --tmpdir "packaging.XXXXXX")
trap 'rm -rf "$work"' EXIT
complaints=0

complain() {
    printf 'staged.sh: %s\n' "$*"
    complaints=$((complaints + 1))
}

cmake --install "$build" --prefix "$work/usr" >/dev/null
libdir=$(dirname "$(find "$work/usr" -name 'libtutti.so.*.*.*' -type f)")
[[ $libdir == */lib ]] || complain "libraries are in $libdir"
# Moves the files to Debian's folders. gdb's script has the folder name of the time when the build was configured.
mkdir "$work/multi"
mv "$work/usr/lib" "$work/multi/x86_64-linux-gnu"
mv "$work/multi" "$work/usr/lib"

cd "$work"
find usr ! -type d -printf '%p\n' | sort >installed
: >packaged
for list in "$root"/debian/*.install; do
    name=$(basename "$list")
    while read -r pattern _; do
        case $pattern in
            debian/* | packaging/* | docs/*)
                [[ -e $root/$pattern ]] || complain "$name: there is no $pattern"
                continue
                ;;
            # debian/rules builds these only for a certain profile.
            build/kernel/scheduler/*) continue ;;
        esac
        # shellcheck disable=SC2086  # a pattern
        find $pattern ! -type d 2>/dev/null >found || true
        [[ -s found ]] || complain "$name: nothing that is installed matches $pattern"
        cat found >>packaged
    done <"$list"
done
while read -r twice; do
    complain "two lines of debian/*.install have $twice"
done < <(sort packaged | uniq -d)
while read -r left; do
    complain "no package of debian/ has $left"
done < <(comm -23 installed <(sort -u packaged))

says() { grep -Eq -- "$2" "$root/$1" || complain "$1 does not say '$2'"; }
says debian/changelog "^tutti \($version-"
says packaging/vcpkg/vcpkg.json "\"version\": \"$version\""
soversion=${version%.*}
says debian/control "^Package: libtutti$soversion\$"

# A vcpkg port turns off features that a library does not need; each must be an option of the project.
grep -o 'TUTTI_[A-Z]*' "$root/packaging/vcpkg/portfile.cmake" | sort -u | while read -r option; do
    grep -q "^$option:" "$build/CMakeCache.txt" || echo "packaging/vcpkg/portfile.cmake: there is no option $option"
done >unknown
[[ ! -s unknown ]] || complain "$(<unknown)"

((complaints == 0))
