# shellcheck shell=bash
# ./dev package: makes and tries the packages from which users install Tutti.

# Copies the tree without build results, as an upstream source and Debian's additions.
unpack_for_debian() {
    local version=$1 tree=$2
    mkdir -p "$tree"
    git ls-files -co --exclude-standard | tar -cf - --verbatim-files-from -T - | tar -xf - -C "$tree"
    tar -czf "$(dirname "$tree")/tutti_$version.orig.tar.gz" -C "$(dirname "$tree")" --exclude=debian "tutti-$version"
}

# The scheduler is left out if its library is neither installed nor available for download.
build_debian() {
    local tree=$1 profiles=(pkg.tutti.scheduler)
    # shellcheck source=scripts/scheduler.sh
    source scripts/scheduler.sh
    if ! has_libbpf; then
        profiles+=(pkg.tutti.libbpf)
        export TUTTI_LIBBPF=$scheduler_dir/libbpf/usr
        scheduler_library || { say "no package of the scheduler: no libbpf is new enough" && profiles=(); }
    fi
    (cd "$tree" && DEB_BUILD_OPTIONS="parallel=$jobs" DEB_BUILD_PROFILES="${profiles[*]}" \
        dpkg-buildpackage --no-sign --build=binary)
}

# Unpacks the packages together, compiles and runs a program against them, and another one that uses the language.
try_debian() {
    local root=$PWD/build/package/root lib flags package
    rm -rf "$root"
    for package in build/package/*.deb; do
        [[ $package == *-dbgsym_* ]] || dpkg-deb -x "$package" "$root"
    done
    lib=$root/usr/lib/$(gcc -print-multiarch)
    flags=$(PKG_CONFIG_LIBDIR=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags --libs tutti)
    # shellcheck disable=SC2086  # a list of words
    g++ -std=c++20 packaging/conan/test_package/bank.cpp -I"$root/usr/include" $flags -L"$lib" -o build/package/bank
    LD_LIBRARY_PATH=$lib build/package/bank
    LD_LIBRARY_PATH=$lib "$root/usr/bin/tutti" --version
    LD_LIBRARY_PATH=$lib "$root/usr/bin/tutti" run --report -- build/package/bank
    rm -f tutti-report.*.json
    printf 'int x;\nint main(void) { __transaction_atomic { ++x; } return x - 1; }\n' >build/package/language.c
    gcc -fgnu-tm build/package/language.c -o build/package/language
    LD_LIBRARY_PATH=$lib "$root/usr/bin/tutti" run -- build/package/language
    [[ $(<"$root/etc/ld.so.conf.d/000-tutti-libitm.conf") == "/usr/lib/$(gcc -print-multiarch)/tutti" ]]
    if compgen -G 'build/package/tutti-scheduler_*.deb' >/dev/null; then try_scheduler "$root"; fi
}

# Checks that the packaged program starts and prints its usage. Loading the scheduler needs another kernel.
try_scheduler() {
    local status=0
    [[ -e $1/usr/lib/tutti/scheduler.bpf.o ]]
    "$1/usr/sbin/tutti-scheduler" 2>/dev/null || status=$?
    ((status == 2))
}

# run_member <root> <name>: runs the command of the systemd unit, from the packages unpacked in <root>, until it ends.
run_member() {
    local root=$1 name=$2 words options
    words=$(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/tutti-member@.service")
    options=$(sed -n 's/^OPTIONS=//p' "$root/etc/tutti/member-$name.conf")
    words=${words//%i/$name}
    words=${words//\$OPTIONS/$options}
    words=${words//\/usr\/bin/$root/usr/bin}
    # shellcheck disable=SC2086  # a list of words, as for systemd
    LD_LIBRARY_PATH=$root/usr/lib/$(gcc -print-multiarch) exec ${words//\/var\/lib/$root/var/lib}
}

# await_members <root> <address> <how many>: waits until this many members vote and one of them leads.
await_members() {
    local root=$1 address=$2 count=$3 said tries
    for ((tries = 0; tries < 300; ++tries)); do
        said=$(LD_LIBRARY_PATH=$root/usr/lib/$(gcc -print-multiarch) "$root/usr/bin/tutti" member status --json \
            --group "$address") && (($(grep -c '"votes": true' <<<"$said") == count)) && return
        sleep 0.1
    done
    printf 'no %d members came to be: %s\n' "$count" "$said"
    return 1
}

# Starts three members as in the unit, then ends the first one and starts it again with the same arguments. All of them
# end with this function.
try_members() (
    trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
    local root=$PWD/build/package/root name port ports pids=() first='' pid
    mkdir -p "$root/etc/tutti" "$root/var/lib"
    mapfile -t ports < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
for one in held: print(one.getsockname()[1])')
    for port in "${ports[@]}"; do
        name=m${#pids[@]}
        if [[ -z $first ]]; then
            first=127.0.0.1:$port
            sed "s/:7001/:$port/" "$root/usr/share/doc/tutti-member/examples/member.conf" \
                >"$root/etc/tutti/member-$name.conf"
        else
            echo "OPTIONS=--listen 127.0.0.1:$port --join $first" >"$root/etc/tutti/member-$name.conf"
        fi
        run_member "$root" "$name" &
        pids+=($!)
        await_members "$root" "$first" ${#pids[@]} || return
    done
    kill "${pids[0]}"
    wait "${pids[0]}" || return
    run_member "$root" m0 &
    pids[0]=$!
    await_members "$root" "$first" 3 || return
    for pid in "${pids[@]}"; do
        kill "$pid"
        wait "$pid" || return
    done
)

# Builds the module as DKMS would build it from the package, for each kernel whose headers are here. Installs nothing.
try_dkms() {
    local release root=$PWD/build/package/root tree=$PWD/build/package/dkms
    # shellcheck source=scripts/kernel.sh
    source scripts/kernel.sh
    mkdir -p "$tree"
    for release in $(kernel_releases); do
        dkms build -m tutti -v "$1" -k "$release" --sourcetree "$root/usr/src" --dkmstree "$tree" || return
        [[ -e $tree/tutti/$1/$release/x86_64/module/tutti.ko || -e $tree/tutti/$1/$release/x86_64/module/tutti.ko.xz ]] ||
            return
    done
}

package_deb() {
    local version
    version=$(project_version)
    rm -rf build/package
    mkdir -p build/package
    steps 7
    step "packages" need "${packages_build[@]}" "${packages_server[@]}" "${packages_cluster[@]}" "${packages_dkms[@]}" \
        "${packages_scheduler[@]}" libelf-dev zlib1g-dev debhelper lintian
    step "source" unpack_for_debian "$version" "build/package/tutti-$version"
    step "dpkg-buildpackage" build_debian "build/package/tutti-$version"
    step "lintian" lintian --allow-root --fail-on error,warning build/package/*.changes
    step "try them" try_debian
    step "try members" try_members
    step "try the module" try_dkms "$version"
    say "the packages are build/package/*.deb; install them with: sudo apt install ./build/package/*.deb"
}

# Installs Conan from PyPI into a separate folder under build/.
install_conan() {
    python3 -m venv build/conan/venv
    build/conan/venv/bin/pip install --quiet 'conan>=2,<3'
    [[ -e build/conan/home/profiles/default ]] || CONAN_HOME=$PWD/build/conan/home build/conan/venv/bin/conan profile detect
}

create_conan() {
    CONAN_HOME=$PWD/build/conan/home build/conan/venv/bin/conan create packaging/conan -s compiler.cppstd=20
}

package_conan() {
    steps 3
    step "packages" need "${packages_build[@]}" python3-venv
    step "conan" install_conan
    step "conan create" create_conan
    say "the package is in build/conan/home; for your own cache: conan create packaging/conan -s compiler.cppstd=20"
}

command_package() {
    (($# == 1)) || die "package takes one word: deb or conan"
    case $1 in
        deb | conan) "package_$1" ;;
        *) die "package deb or package conan, not: $1" ;;
    esac
}
