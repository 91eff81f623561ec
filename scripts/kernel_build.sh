# shellcheck shell=bash
# Kernels that Debian does not build, from its source packages: small ones, with what guests need and what finds faults
# in the module while its tests run; and one with the kernel's own extension of turns on the processor.

module_tests="test_kernel_device test_kernel_policies test_preempt"

# kernel_source <version>: where it is unpacked.
kernel_source() { printf '%s\n' "$PWD/$kernel_dir/source-$1"; }

# kernel_source_unpacked <version> <command that fetches the package into the current folder>...
kernel_source_unpacked() {
    local version=$1 folder
    folder=$(kernel_source "$1")
    shift
    [[ ! -e $folder/Makefile ]] || return 0
    rm -rf "$folder.part"
    mkdir -p "$folder.part"
    # What is interrupted leaves no source where one is looked for.
    (cd "$folder.part" && "$@" && dpkg-deb -x linux-source-*.deb . && rm linux-source-*.deb &&
        tar -xJf "usr/src/linux-source-$version.tar.xz" && rm -r usr) &&
        mv -T "$folder.part/linux-source-$version" "$folder" && rmdir "$folder.part"
}

# kernel_configured <source> <folder> <fragment>...: all that these do not name is left out, and all that they name is in.
kernel_configured() {
    local source=$1 folder=$2 lacks
    shift 2
    mkdir -p "$folder"
    (cd tests/kernel/configs && cat "${@/%/.config}") >"$folder/wanted"
    make -C "$source" O="$folder" KCONFIG_ALLCONFIG="$folder/wanted" allnoconfig || return
    # Kconfig drops without a word what it cannot have.
    lacks=$(grep '^CONFIG' "$folder/wanted" | grep -vxFf "$folder/.config") || return 0
    say "this kernel cannot have:" "$lacks"
    return 1
}

# kernel_built <version> <name> <fragment>...: where guest() and kernel_module() look for it. Where it has KCSAN, what that
# watches is the module, which kernel_module() builds: it looks at one access in so many, and nearly all would be the
# kernel's own.
kernel_built() {
    local source folder=$PWD/$kernel_dir/$2 name=$2
    source=$(kernel_source "$1")
    shift 2
    kernel_configured "$source" "$folder/tree" guest "$@" &&
        make -C "$source" O="$folder/tree" -j "$jobs" KCSAN_SANITIZE=n bzImage modules &&
        install -D "$folder/tree/arch/x86/boot/bzImage" "$folder/boot/vmlinuz-$name"
}

# module_tested_in <name> <effort> [guest]...: what the kernel finds is in its log, which every guest looks through at its
# end.
module_tested_in() {
    local what program name=$1 effort=$2
    shift 2
    for what in device unloading policies preemption "$@"; do
        case $what in
            policies) program=test_kernel_policies ;;
            preemption) program=test_preempt ;;
            *) program=test_kernel_device ;;
        esac
        say "$what"
        TUTTI_KERNEL=$name TUTTI_GUEST_MEMORY=2048 TUTTI_TEST_EFFORT=$effort timeout 3600 \
            tests/kernel/guest.sh "$what" "$PWD/build/release/bin/$program" || return
    done
}

# kernel_sanitize [sanitizer]: in the kernel that has it; without one, in each.
kernel_sanitize() {
    local configs config
    case ${1-} in
        '') configs=(memory races) ;;
        lockdep | kasan | ubsan) configs=(memory) ;;
        kcsan) configs=(races) ;;
        *) die "sanitize knows lockdep, kasan, ubsan and kcsan, not '$1'" ;;
    esac
    steps $((3 + 2 * ${#configs[@]}))
    step "packages" need "${packages_build[@]}" "${packages_test[@]}" "${packages_kernel_build[@]}"
    step "build the tests" build_preset release "$module_tests" -DTUTTI_TESTS=ON
    step "fetch the source of the kernel" kernel_source_unpacked 6.1 \
        timeout 600 apt-get -q -o APT::Sandbox::User=root download linux-source-6.1
    for config in "${configs[@]}"; do
        step "build a kernel for $config" kernel_built 6.1 "sanitized-$config" module "$config"
        # These kernels take ten times as long or more, so what only counts is a tenth; everything is done nevertheless.
        step "test the module in it: $config" module_tested_in "sanitized-$config" 0.1
    done
    say "no report, in a tenth of the rounds that the tests have in other kernels; the logs of the guests are in $log_dir"
}

# The newest source of Debian's backports, by version.
newest_source() {
    backports_update >&2 || return
    backports apt-cache pkgnames linux-source- | sed -nE 's/^linux-source-([0-9.]+)$/\1/p' | sort -V | tail -n 1
}

slices_tested() {
    TUTTI_KERNEL=slices tests/kernel/guest.sh slices "$PWD/build/release/bin/test_kernel_slices"
}

kernel_slices() {
    local version
    # shellcheck source=scripts/scheduler.sh
    source scripts/scheduler.sh
    steps 6
    step "packages" need "${packages_build[@]}" "${packages_test[@]}" "${packages_kernel_build[@]}"
    step "build the tests" build_preset release "test_kernel_slices $module_tests" -DTUTTI_TESTS=ON
    version=$(newest_source)
    [[ -n $version ]] || die "Debian's backports cannot be asked for the source of a kernel"
    step "fetch the source of the kernel" kernel_source_unpacked "$version" backports apt-get download "linux-source-$version"
    step "build a kernel with slice extension" kernel_built "$version" slices module slices
    step "test it" slices_tested
    step "test the module in it" module_tested_in slices 1 extension
}
