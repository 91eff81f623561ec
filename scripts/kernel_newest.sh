# shellcheck shell=bash
# The newest kernel of this Debian's backports, for guests: downloaded and unpacked, but not installed.
# scripts/scheduler.sh implements the download.

# newest_release: prints its name.
newest_release() {
    local version
    version=$(sed -n 's/^VERSION_ID="\([0-9]*\)"$/\1/p' /etc/os-release)
    backports_update >&2 || return
    backports apt-cache pkgnames linux-headers- | sed -nE "s/^linux-headers-([0-9].*\+deb$version-cloud-amd64)$/\1/p" |
        sort -V | tail -n 1
}

# newest_tree <release>: unpacks the headers where kernel_tree looks. The packages refer to each other by absolute
# paths.
newest_tree() {
    local folder=$PWD/$kernel_dir/$1 needed
    [[ ! -e $folder/tree ]] || return 0
    needed=$(backports apt-cache depends "linux-headers-$1" | sed -nE 's/.*Depends: (linux-(headers|kbuild)-[^ ]*)$/\1/p')
    # shellcheck disable=SC2086  # a list of words
    fetched "$folder/headers" "linux-headers-$1" $needed &&
        sed -i "s|/usr/src/|$folder/headers/usr/src/|g" "$folder/headers/usr/src/linux-headers-$1/Makefile" &&
        ln -s "headers/usr/src/linux-headers-$1" "$folder/tree"
}

# newest_image <release>: unpacks the kernel where guest() looks.
newest_image() {
    local folder=$PWD/$kernel_dir/$1
    [[ ! -e $folder/boot/vmlinuz-$1 ]] || return 0
    fetched "$folder/image" "linux-image-$1" && mv "$folder/image/boot" "$folder" && rm -rf "$folder/image"
}

newest_kernel() {
    local release
    release=$(newest_release)
    [[ -n $release ]] && mkdir -p "$kernel_dir/$release" && newest_tree "$release" && newest_image "$release"
}

# choose_newest: makes guests boot that kernel from now on.
choose_newest() {
    TUTTI_KERNEL=$(newest_release)
    # Without this, these kernels sometimes crash while booting in QEMU 7.2: the flags are wrong after the cmpxchg16b of
    # their allocator.
    TUTTI_GUEST_CPU=max,-cx16
    export TUTTI_KERNEL TUTTI_GUEST_CPU
}
