# shellcheck shell=bash
# ./dev kernel: builds the module of kernel/ for Debian's kernels, and starts guests of QEMU that load it. QEMU emulates
# the processor (TCG), so a guest needs no privileges and no support by this machine's processor or kernel.

kernel_dir=build/kernel

kernel_usage() {
    cat <<'END'
usage: ./dev kernel <command>

  build                    the module, for each kernel whose headers are installed: build/kernel/<release>/tutti.ko
  scheduler                the program for sched_ext and what loads it: build/kernel/scheduler/no_fault
  test [arguments]         the tests labelled kernel, which run in guests; arguments go to ctest
  torture [times]          ticks that leave no trace, so many times as many as the tests have; default: 500, a million
  newest [arguments]       the same tests with the newest kernel of Debian's backports
  preemption               all tests of the preemption layer, with every tick source, in both of these kernels; minutes
  sanitize [lockdep|kasan|ubsan|kcsan]
                           builds a kernel with that sanitizer from Debian's source (the first three are in one; half an
                           hour and 4 GB for each of the two), and runs the module's tests in it; no name: in both
  slices                   builds a kernel that extends turns on the processor by itself from the newest source of
                           Debian's backports, and runs the tests of policy 'deadline' in it, and the module's
  shell                    a guest with the module loaded, and a shell in it; `poweroff -f` ends it
END
}

# kernel_releases: prints the releases whose headers are installed, the oldest first; guests boot that one.
kernel_releases() {
    local folder
    for folder in /usr/src/linux-headers-*-cloud-amd64; do
        [[ -d $folder ]] && printf '%s\n' "${folder#/usr/src/linux-headers-}"
    done | sort -V
}

# kernel_tree <release>: prints the tree that modules for it are built against. For kernels that are not installed here,
# it is beside the module.
kernel_tree() {
    local installed=/usr/src/linux-headers-$1
    [[ -d $installed ]] || installed=$PWD/$kernel_dir/$1/tree
    printf '%s\n' "$installed"
}

# kernel_module <release>: builds the module outside the source folder, because Kbuild writes into its folder.
kernel_module() {
    local release=$1 folder=$PWD/$kernel_dir/$1
    mkdir -p "$folder"
    cp -u kernel/Kbuild kernel/*.[ch] "$folder"
    # BTF types are not needed, and would require another package.
    make -C "$(kernel_tree "$release")" M="$folder" W=1 KBUILD_MODPOST_WARN=0 CONFIG_DEBUG_INFO_BTF_MODULES= modules
}

kernel_modules() {
    local release
    for release in $(kernel_releases); do
        kernel_module "$release"
    done
}

# kernel_image <release>: unpacks that kernel without installing it, because this machine must not boot it.
kernel_image() {
    local folder=$PWD/$kernel_dir/$1
    [[ ! -e $folder/boot/vmlinuz-$1 ]] || return 0
    rm -rf "$folder/image"
    mkdir -p "$folder/image"
    # An interrupted download must not leave an incomplete kernel.
    (cd "$folder/image" && timeout 120 apt-get -q -o APT::Sandbox::User=root download "linux-image-$1" &&
        dpkg-deb -x linux-image-"$1"_*.deb . && mv boot ..) || return
    rm -rf "$folder/image"
}

# with_libraries <root> <absolute program>...: copies the programs and the libraries that they load to the same paths
# below <root>.
with_libraries() {
    local root=$1 file
    shift
    for file in "$@" $(ldd "$@" | sed -nE 's/^[^(]*[[:space:]](\/[^ ]+) \(0x.*/\1/p' | sort -u); do
        [[ ! -e $root$file ]] || continue
        install -D "$file" "$root$file"
        strip --strip-debug "$root$file"
    done
}

# guest_files <root> <release>: copies the files that every guest has.
guest_files() {
    local root=$1
    mkdir -p "$root"/{bin,dev,etc,proc,run,sys,tmp}
    cp "$(command -v busybox)" "$root/bin/busybox"
    ln -s busybox "$root/bin/sh"
    cp tests/kernel/init "$root/init"
    [[ ! -e $kernel_dir/$2/tutti.ko ]] || cp "$kernel_dir/$2/tutti.ko" "$root/tutti.ko"
    printf 'root:x:0:0::/:/bin/sh\nother:x:1000:1000::/:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\nother:x:1000:\n' >"$root/etc/group"
}

# guest_khz: prints the rate of a guest's time stamp counter: this machine's rate, or 1 GHz if QEMU counts instructions.
guest_khz() {
    if [[ ${machine-} == *icount* ]]; then
        echo 1000000
    else
        [[ $kernel_dir/clock -nt tests/kernel/clock.c ]] ||
            gcc -O2 -Wall -Wextra tests/kernel/clock.c -o "$kernel_dir/clock" || return
        "$kernel_dir/clock"
    fi
}

# guest <root> <release> [kernel parameter]...: boots the guest; its output goes to standard output. $machine may hold
# further options of QEMU, and $accelerator selects the kind of emulation.
#
# If each processor has its own QEMU thread (thread=multi), QEMU before 8.1 may continue with instructions that the
# kernel has replaced. One thread translates them while another one writes. The first thread keeps its translation after
# all earlier ones have been discarded. QEMU's commit deba78709ae8, "accel/tcg: Always lock pages before translation",
# fixed this. The error happened with 7.2.22, in 3 of 21 guests that loaded and unloaded the module repeatedly. Both
# processors trapped endlessly, in the scheduler, at an `int3` that memory no longer contained and that no processor was
# patching. When gdb wrote the byte that was already there, the guest continued. So the processors share a thread,
# unless a guest needs them to run at the same time. The first processor boots alone, until init starts the others.
#
# Kernels test their ciphers while booting, which takes a quarter of the time, unless a parameter disables this. Kernels
# also measure the rate of their clock. If this machine was busy at that moment, a guest's time could run four times too
# fast.
guest() {
    local root=$1 release=$2 khz
    shift 2
    khz=$(guest_khz) || return
    (cd "$root" && find . -print0 | cpio --quiet --null --create --format=newc --owner=0:0) >"$root.cpio"
    # shellcheck disable=SC2086  # a list of words
    qemu-system-x86_64 -accel "${accelerator:-tcg,thread=single}" -cpu "${TUTTI_GUEST_CPU:-max}" -smp 2 -m "${TUTTI_GUEST_MEMORY:-768}" ${machine:-} -display none -nodefaults -no-reboot -serial stdio \
        -kernel "$kernel_dir/$release/boot/vmlinuz-$release" -initrd "$root.cpio" \
        -append "console=ttyS0 quiet panic=-1 oops=panic tsc=reliable no_timer_check maxcpus=1 no_ipi_broadcast=1 cryptomgr.notests=1 tsc_early_khz=$khz $*"
}

kernel_shell() {
    local release root
    release=$(kernel_releases | head -n 1)
    root=$(mktemp -d)
    # shellcheck disable=SC2064  # these folders
    trap "rm -rf '$root' '$root.cpio'" EXIT
    guest_files "$root" "$release"
    guest "$root" "$release" tutti.shell || true
}

command_kernel() {
    local command=${1:---help}
    shift || true
    case $command in
        build)
            steps 2
            step "packages" need "${packages_kernel[@]}"
            step "build the module" kernel_modules
            say "built in $kernel_dir, for each of: $(kernel_releases | xargs)"
            ;;
        scheduler)
            # shellcheck source=scripts/scheduler.sh
            source scripts/scheduler.sh
            steps 3
            step "packages" need "${packages_scheduler[@]}"
            step "fetch libbpf" scheduler_library
            step "build the scheduler" scheduler_program no_fault
            say "built in $scheduler_dir/no_fault; docs/kernel.md says how to run it"
            ;;
        test)
            # shellcheck source=scripts/test.sh
            source scripts/test.sh
            command_test --preset release -L '^kernel$' "$@"
            ;;
        newest)
            # shellcheck source=scripts/scheduler.sh
            source scripts/scheduler.sh
            # shellcheck source=scripts/kernel_newest.sh
            source scripts/kernel_newest.sh
            # shellcheck source=scripts/test.sh
            source scripts/test.sh
            steps 1
            step "fetch the newest kernel" newest_kernel
            choose_newest
            command_test --preset release -R '^kernel\.(device|unloading|instructions|preemption|policies)$' "$@"
            ;;
        preemption)
            # shellcheck source=scripts/scheduler.sh
            source scripts/scheduler.sh
            # shellcheck source=scripts/kernel_newest.sh
            source scripts/kernel_newest.sh
            steps 5
            step "packages" need "${packages_build[@]}" "${packages_test[@]}"
            step "build the tests" build_preset release test_preempt -DTUTTI_TESTS=ON
            step "fetch the newest kernel" newest_kernel
            step "test in $(kernel_releases | head -n 1)" tests/kernel/guest.sh whole "$PWD/build/release/bin/test_preempt"
            choose_newest
            step "test in $TUTTI_KERNEL" tests/kernel/guest.sh whole "$PWD/build/release/bin/test_preempt"
            ;;
        torture)
            [[ ${1:-500} =~ ^[1-9][0-9]*$ ]] || die "kernel torture takes a whole number of times, not: $1"
            steps 4
            step "packages" need "${packages_build[@]}" "${packages_test[@]}"
            step "build the tests" build_preset release test_preempt -DTUTTI_TESTS=ON
            step "build the module" kernel_modules
            step "fetch the kernel" kernel_image "$(kernel_releases | head -n 1)"
            TUTTI_TEST_EFFORT=${1:-500} exec tests/kernel/guest.sh ticks "$PWD/build/release/bin/test_preempt"
            ;;
        sanitize)
            # shellcheck source=scripts/kernel_build.sh
            source scripts/kernel_build.sh
            kernel_sanitize "$@"
            ;;
        slices)
            # shellcheck source=scripts/kernel_build.sh
            source scripts/kernel_build.sh
            kernel_slices
            ;;
        shell)
            steps 3
            step "packages" need "${packages_kernel[@]}"
            step "build the module" kernel_modules
            step "fetch the kernel" kernel_image "$(kernel_releases | head -n 1)"
            kernel_shell
            ;;
        -h | --help | help) kernel_usage ;;
        *)
            kernel_usage >&2
            die "kernel has no command '$command'"
            ;;
    esac
}
