# shellcheck shell=bash
# Kernels that Debian does not build, from its source package: small ones, with what guests need and what finds faults in
# the module while its tests run.

kernel_source=$PWD/$kernel_dir/source-6.1

kernel_source_unpacked() {
    local folder=$kernel_source.part
    [[ ! -e $kernel_source/Makefile ]] || return 0
    rm -rf "$folder"
    mkdir -p "$folder"
    # What is interrupted leaves no source where one is looked for.
    (cd "$folder" && timeout 600 apt-get -q -o APT::Sandbox::User=root download linux-source-6.1 &&
        dpkg-deb -x linux-source-*.deb . && rm linux-source-*.deb &&
        tar -xJf usr/src/linux-source-6.1.tar.xz && rm -r usr) &&
        mv -T "$folder/linux-source-6.1" "$kernel_source" && rmdir "$folder"
}

# kernel_configured <folder> <fragment>...: all that these do not name is left out, and all that they name is in.
kernel_configured() {
    local folder=$1 lacks
    shift
    mkdir -p "$folder"
    (cd tests/kernel/configs && cat "${@/%/.config}") >"$folder/wanted"
    make -C "$kernel_source" O="$folder" KCONFIG_ALLCONFIG="$folder/wanted" allnoconfig || return
    # Kconfig drops without a word what it cannot have.
    lacks=$(grep '^CONFIG' "$folder/wanted" | grep -vxFf "$folder/.config") || return 0
    say "this kernel cannot have:" "$lacks"
    return 1
}

# kernel_built <name> <fragment>...: where guest() and kernel_module() look for it.
kernel_built() {
    local name=$1 folder=$PWD/$kernel_dir/$1
    shift
    kernel_configured "$folder/tree" guest module "$@" &&
        make -C "$kernel_source" O="$folder/tree" -j "$jobs" bzImage modules &&
        install -D "$folder/tree/arch/x86/boot/bzImage" "$folder/boot/vmlinuz-$name"
}

# module_tested_in <name>: its reports are in the kernel's log, which every guest looks through at its end. These kernels
# take ten times as long or more, so what only counts is a tenth; everything is done nevertheless.
module_tested_in() {
    local what program
    for what in device unloading policies; do
        program=device
        [[ $what != policies ]] || program=policies
        TUTTI_KERNEL=$1 TUTTI_GUEST_MEMORY=2048 TUTTI_TEST_EFFORT=0.1 timeout 3600 \
            tests/kernel/guest.sh "$what" "$PWD/build/release/bin/test_kernel_$program" || return
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
    step "build the tests" build_preset release "test_kernel_device test_kernel_policies" -DTUTTI_TESTS=ON
    step "fetch the source of the kernel" kernel_source_unpacked
    for config in "${configs[@]}"; do
        step "build a kernel for $config" kernel_built "sanitized-$config" "$config"
        step "test the module in it: $config" module_tested_in "sanitized-$config"
    done
    say "no report, in a tenth of the rounds that the tests have in other kernels; the logs of the guests are in $log_dir"
}
