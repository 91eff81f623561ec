# shellcheck shell=bash
# The sched_ext program of kernel/scheduler: its build tools, and a kernel that guests can load it into. Packages that
# this Debian lacks come from its backports. They are only unpacked, never installed.

scheduler_dir=$PWD/build/kernel/scheduler # absolute, because packages are unpacked in other folders

# backports <apt-get or apt-cache> <arguments>...: runs the tool on Debian's backports alone, with separate lists.
backports() {
    local tool=$1 here=$scheduler_dir/apt
    shift
    timeout 180 "$tool" -q -o Dir::Etc::SourceList="$here/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$here/lists" \
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root "$@"
}

# codename: prints the name of this Debian.
codename() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release; }

# Updates the lists. trixie-backports has kernels that were built with sched_ext.
backports_update() {
    local key=/usr/share/keyrings/debian-archive-keyring.gpg suite
    [[ -e $key ]] && command -v apt-get >/dev/null || return
    [[ ! -e $scheduler_dir/apt/updated ]] || return 0
    mkdir -p "$scheduler_dir/apt/lists/partial"
    for suite in "$(codename)" trixie; do
        echo "deb [signed-by=$key] http://deb.debian.org/debian $suite-backports main"
    done | sort -u >"$scheduler_dir/apt/sources.list"
    backports apt-get -o APT::Update::Error-Mode=any update &&
        touch "$scheduler_dir/apt/updated"
}

# fetched <folder> <package>...: downloads the packages and unpacks them into the folder.
fetched() {
    local folder=$1
    shift
    rm -rf "$folder.part"
    mkdir -p "$folder.part"
    # An interrupted download must not leave an incomplete folder.
    backports_update &&
        (cd "$folder.part" && backports apt-get download "$@" &&
            for package in *.deb; do dpkg-deb -x "$package" . && rm "$package" || exit; done) &&
        mv -T "$folder.part" "$folder"
}

# libbpf 1.4 is the first version that accepts a sched_ext program with fewer operations than the kernel has.
has_libbpf() { pkg-config --atleast-version=1.4 libbpf 2>/dev/null; }

scheduler_library() {
    local suite
    if has_libbpf || [[ -d $scheduler_dir/libbpf ]]; then return 0; fi
    suite=$(codename)-backports
    fetched "$scheduler_dir/libbpf" "libbpf-dev/$suite" "libbpf1/$suite"
}

# scheduler_program <step that it leaves out, or no_fault>: builds
# $scheduler_dir/<that>/{tutti-scheduler,scheduler.bpf.o} with the flags of the environment. TUTTI_LIBBPF: a folder with
# a libbpf to link statically, for packages.
scheduler_program() {
    local out=$scheduler_dir/$1 prefix libraries=() headers=() flags multiarch
    multiarch=$(gcc -print-multiarch)
    read -ra flags <<<"${CPPFLAGS-} ${CFLAGS-} ${LDFLAGS-}"
    if [[ -n ${TUTTI_LIBBPF-} ]]; then
        libraries=("$TUTTI_LIBBPF/lib/$multiarch/libbpf.a" -lelf -lz)
        headers=(-I"$TUTTI_LIBBPF/include")
    elif has_libbpf; then
        libraries=(-lbpf)
    else
        prefix=$scheduler_dir/libbpf/usr
        # shellcheck disable=SC2054  # those commas are the linker's
        libraries=(-L"$prefix/lib/$multiarch" "-Wl,-rpath,$prefix/lib/$multiarch" -Wl,--allow-shlib-undefined -lbpf)
        headers=(-I"$prefix/include")
    fi
    mkdir -p "$out"
    clang-19 -target bpf -mcpu=v3 -O2 -g -Wall -Werror -DTUTTI_FAULT="$1" "${headers[@]}" -I"/usr/include/$multiarch" \
        -c kernel/scheduler/scheduler.bpf.c -o "$out/scheduler.bpf.o" &&
        gcc -O2 "${flags[@]}" -Wall -Wextra -Werror -DTUTTI_FAULT="$1" "${headers[@]}" kernel/scheduler/loader.c \
            -o "$out/tutti-scheduler" "${libraries[@]}"
}

# scheduler_release: prints the name of the newest kernel that can run it.
scheduler_release() {
    backports_update >&2 || return
    backports apt-cache pkgnames linux-binary- | sed -nE 's/^linux-binary-([0-9].*-cloud-amd64)$/\1/p' | sort -V | tail -n 1
}

# scheduler_image <release>: unpacks the kernel where guest() looks.
scheduler_image() {
    local boot=$PWD/${kernel_dir:?scripts/kernel.sh comes first}/$1/boot
    [[ ! -e $boot/vmlinuz-$1 ]] || return 0
    fetched "$PWD/$kernel_dir/$1/image" "linux-binary-$1" || return
    mkdir -p "$boot"
    mv "$kernel_dir/$1/image/usr/lib/modules/$1/vmlinuz" "$boot/vmlinuz-$1" && rm -rf "$kernel_dir/$1/image"
}
