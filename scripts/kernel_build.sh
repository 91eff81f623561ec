# shellcheck shell=bash
# Kernels that Debian does not build, from its source packages. The small ones have only what guests need, and tools
# that find faults in the module while its tests run. Another one has the kernel's own extension of turns on the
# processor.

module_tests="test_kernel_device test_kernel_policies test_preempt"

# kernel_source <version>: prints the folder where the source is unpacked.
kernel_source() { printf '%s\n' "$PWD/$kernel_dir/source-$1"; }

# kernel_source_unpacked <version> <command that fetches the package into the current folder>...
kernel_source_unpacked() {
    local version=$1 folder
    folder=$(kernel_source "$1")
    shift
    [[ ! -e $folder/Makefile ]] || return 0
    rm -rf "$folder.part"
    mkdir -p "$folder.part"
    # An interrupted download must not leave an incomplete source folder.
    (cd "$folder.part" && "$@" && dpkg-deb -x linux-source-*.deb . && rm linux-source-*.deb &&
        tar -xJf "usr/src/linux-source-$version.tar.xz" && rm -r usr) &&
        mv -T "$folder.part/linux-source-$version" "$folder" && rmdir "$folder.part"
}

# kernel_configured <source> <folder> <fragment>...: configures a kernel with exactly the options in the fragments.
kernel_configured() {
    local source=$1 folder=$2 lacks
    shift 2
    mkdir -p "$folder"
    (cd tests/kernel/configs && cat "${@/%/.config}") >"$folder/wanted"
    make -C "$source" O="$folder" KCONFIG_ALLCONFIG="$folder/wanted" allnoconfig || return
    # Kconfig silently drops options that it cannot set.
    lacks=$(grep '^CONFIG' "$folder/wanted" | grep -vxFf "$folder/.config") || return 0
    say "this kernel cannot have:" "$lacks"
    return 1
}

# kernel_built <version> <name> <fragment>...: builds the kernel where guest() and kernel_module() find it. In a kernel
# with KCSAN, only the module, which kernel_module() builds, is watched. KCSAN watches a sample of the accesses, and
# nearly all would be the kernel's own.
kernel_built() {
    local source folder=$PWD/$kernel_dir/$2 name=$2
    source=$(kernel_source "$1")
    shift 2
    kernel_configured "$source" "$folder/tree" guest "$@" &&
        make -C "$source" O="$folder/tree" -j "$jobs" KCSAN_SANITIZE=n bzImage modules &&
        install -D "$folder/tree/arch/x86/boot/bzImage" "$folder/boot/vmlinuz-$name"
}

# module_tested_in <name> <effort> [guest]...: runs the tests. The kernel logs its findings, and every guest checks the
# log at its end.
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

# kernel_sanitize [sanitizer]: tests in the kernel that has the sanitizer, or in all kernels without an argument.
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
        # These kernels are at least ten times slower, so repetitions are a tenth, but all tests run.
        step "test the module in it: $config" module_tested_in "sanitized-$config" 0.1
    done
    say "no report, in a tenth of the rounds that the tests have in other kernels; the logs of the guests are in $log_dir"
}

# newest_source: prints the newest source version in Debian's backports.
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
