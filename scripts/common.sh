# shellcheck shell=bash
# The common part of all commands of ./dev: messages, numbered steps with progress, packages, and building a preset.

log_dir=build/logs

# ---- messages -------------------------------------------------------------------------------------------------

say() { printf '%s\n' "$*"; }

die() {
    printf 'dev: %s\n' "$*" >&2
    exit 2
}

# is_among <word> [words]
is_among() {
    local word
    for word in "${@:2}"; do
        [[ $word == "$1" ]] && return 0
    done
    return 1
}

jobs=${TUTTI_JOBS:-$(nproc)}
[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "TUTTI_JOBS is a number of parallel jobs, from 1 on, not '$jobs'"

# An interrupted tool may end normally, but then the next step must not start.
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- steps ----------------------------------------------------------------------------------------------------

step_number=0
step_count=0
step_seconds=0

# steps <n>: sets the number of steps that follow.
steps() { step_count=$1; }

# Shows the last line of a log until its input ends: on a terminal every second in place, otherwise every 20 seconds as
# a new line.
ticker() {
    local log=$1 start=$SECONDS period=20 format='    %4d s  %s\n' status line
    if [[ -t 1 ]]; then
        period=1
        format='\r\033[K    %4d s  %s'
    fi
    while true; do
        status=0
        read -r -t "$period" _ || status=$?
        ((status > 128)) || return 0 # not a timeout
        line=$(tail -n 1 "$log" | tr -d '\r' | cut -c 1-90)
        # shellcheck disable=SC2059  # chosen above
        printf "$format" $((SECONDS - start)) "$line"
    done
}

last_lines() { tail -n 80 "$1"; }

# try_step <title> <command>...: runs one numbered step, with its output in a log. If the step fails, it prints an
# excerpt of the log by the function $excerpt_of, or the end of the log if that is unset. Returns the command's status.
# Sets step_seconds to the duration and step_log to the log's name.
try_step() {
    local title=$1 status=0 start=$SECONDS
    shift
    step_number=$((step_number + 1))
    mkdir -p "$log_dir"
    step_log=$log_dir/${title//[^a-z0-9]/-}.log
    printf '[%d/%d] %s\n' "$step_number" "$step_count" "$title"
    : >"$step_log"
    local ticking ticker_pid
    exec {ticking}> >(ticker "$step_log")
    ticker_pid=$!
    "$@" >"$step_log" 2>&1 </dev/null {ticking}>&- || status=$?
    exec {ticking}>&-
    wait "$ticker_pid" || true
    step_seconds=$((SECONDS - start))
    [[ -t 1 ]] && printf '\r\033[K'
    if ((status == 0)); then
        printf '    done in %d s\n' "$step_seconds"
    else
        printf '    FAILED after %d s; from %s:\n' "$step_seconds" "$step_log"
        "${excerpt_of:-last_lines}" "$step_log" | sed 's/^/    | /'
    fi
    return "$status"
}

# step <title> <command>...: runs a step, and exits if the step fails.
step() {
    try_step "$@" || {
        printf 'dev: stopped, because this failed: %s\n' "$1" >&2
        exit 1
    }
}

# ---- packages -------------------------------------------------------------------------------------------------

# Debian's names. A command asks only for the groups it needs. pkgconf is for users of the built library.
packages_build=(g++ cmake ninja-build pkgconf)
packages_apps=(libcli11-dev libfmt-dev libgif-dev libpng-dev)
packages_server=(libcrypt-dev libssl-dev systemtap-sdt-dev prometheus-cpp-dev libcli11-dev libfmt-dev libhiredis-dev
    libsqlite3-dev libtomlplusplus-dev libxxhash-dev nlohmann-json3-dev)
# Client libraries of the engines that can hold a cluster's objects. Only tests start the engines themselves.
packages_engine_clients=(libhiredis-dev libpq-dev libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc)
packages_engines=(etcd-server postgresql redis-server)
# libzmq transports the messages of nodes that are configured for it.
packages_zeromq=(libzmq3-dev)
# C-Raft replicates the log of a group, over libuv.
packages_members=(libraft-dev libuv1-dev)
# Asio provides the event loop and sockets, OpenSSL encrypts, cereal serializes objects, and toml++ reads the
# configuration of nodes.
packages_cluster=(libasio-dev libcereal-dev libssl-dev libtomlplusplus-dev prometheus-cpp-dev
    "${packages_engine_clients[@]}" "${packages_members[@]}" "${packages_zeromq[@]}")
packages_redis=(redis-server redis-tools)
# For memcached: downloads Debian sources, applies semantic patches, compiles, runs its tests.
packages_memcached=(coccinelle libevent-dev make perl dpkg-dev)
# For the kernel module: builds it, and boots guests that load it.
packages_kernel=(qemu-system-x86 busybox-static cpio gcc make linux-headers-cloud-amd64)
# For building whole kernels from Debian's source package.
packages_kernel_build=(gcc make bc bison flex libelf-dev libssl-dev xz-utils)
# For building the sched_ext program. libbpf is downloaded if the installed one is too old (scripts/scheduler.sh).
packages_scheduler=(clang-19 g++ libelf1)
# For making the package of the module's source, and building the module from it.
packages_dkms=(dh-dkms dkms make linux-headers-cloud-amd64)
packages_charts=(python3 python3-matplotlib)
# The server's tests make certificates, and the language's tests unpack the tests of GCC. Each program that a test runs
# is listed here by its own package: for example, Debian's node-redis does not install nodejs.
packages_test=(binutils perl python3 util-linux gdb valgrind "${packages_apps[@]}"
    "${packages_server[@]}" "${packages_cluster[@]}" "${packages_engines[@]}" "${packages_charts[@]}" "${packages_memcached[@]}"
    redis-tools python3-redis nodejs node-redis golang-go golang-github-gomodule-redigo-dev libgtest-dev
    librapidcheck-dev gcc-12-source openssl iproute2 xz-utils locales "${packages_kernel[@]}")
packages_bench=(libbenchmark-dev libcli11-dev libtbb-dev)
# llvm-19 contains the symbolizer for the reports of sanitizers.
packages_clang=(clang-19 libclang-rt-19-dev llvm-19)
packages_check=(clang-format-19 shellcheck codespell git mandoc python3)

has_header() { [[ -e /usr/include/$1 || -e /usr/local/include/$1 ]]; }

# installed <package>: returns true if the part of the package that we need is present.
installed() {
    case $1 in
        ninja-build) command -v ninja ;;
        gcc-12-source) compgen -G '/usr/src/gcc-12/gcc-*.tar.xz' ;;
        clang-19) command -v clang++-19 ;;
        llvm-19) [[ -x /usr/bin/llvm-symbolizer-19 ]] ;; # the presets name this file
        pkgconf) command -v pkg-config ;;
        qemu-system-x86) command -v qemu-system-x86_64 ;;
        busybox-static) command -v busybox ;;
        linux-headers-cloud-amd64) compgen -G '/usr/src/linux-headers-*-cloud-amd64' ;;
        xz-utils) command -v xz ;;
        libelf-dev) has_header libelf.h ;;
        zlib1g-dev) has_header zlib.h ;;
        libelf1) compgen -G '/usr/lib/*/libelf.so.1' ;;
        g++-aarch64-linux-gnu) command -v aarch64-linux-gnu-g++ ;;
        libcli11-dev) has_header CLI/CLI.hpp ;;
        libasio-dev) has_header asio.hpp ;;
        libraft-dev) has_header raft/uv.h ;;
        libuv1-dev) has_header uv.h ;;
        python3-proselint) command -v proselint ;;
        iproute2) [[ -x /sbin/ip ]] || command -v ip ;;
        libzmq3-dev) has_header zmq.h ;;
        libcereal-dev) has_header cereal/cereal.hpp ;;
        locales) [[ -e /usr/share/i18n/locales/sv_SE ]] ;;
        libpq-dev) has_header postgresql/libpq-fe.h ;;
        libgrpc++-dev) has_header grpcpp/grpcpp.h ;;
        libprotobuf-dev) has_header google/protobuf/message.h ;;
        protobuf-compiler-grpc) command -v grpc_cpp_plugin ;;
        etcd-server) command -v etcd ;;
        postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' ;;
        libfmt-dev) has_header fmt/format.h ;;
        libgif-dev) has_header gif_lib.h ;;
        libpng-dev) has_header png.h ;;
        systemtap-sdt-dev) has_header sys/sdt.h || has_header "$(uname -m)-linux-gnu/sys/sdt.h" ;;
        libcrypt-dev) has_header crypt.h ;;
        libssl-dev) has_header openssl/ssl.h ;;
        prometheus-cpp-dev) has_header prometheus/registry.h ;;
        libtomlplusplus-dev) has_header toml++/toml.h ;;
        libsqlite3-dev) has_header sqlite3.h ;;
        libxxhash-dev) has_header xxhash.h ;;
        nlohmann-json3-dev) has_header nlohmann/json.hpp ;;
        libhiredis-dev) has_header hiredis/hiredis.h ;;
        coccinelle) command -v spatch ;;
        libevent-dev) has_header event.h ;;
        dpkg-dev) command -v dpkg-source ;;
        redis-tools) command -v redis-cli ;;
        debhelper) command -v dh ;;
        dh-dkms) command -v dh_dkms ;;
        nodejs) command -v node ;;
        node-redis) [[ -e /usr/share/nodejs/redis/package.json ]] ;;
        binutils) command -v readelf ;;
        util-linux) command -v unshare ;;
        golang-go) command -v go ;;
        golang-github-gomodule-redigo-dev) [[ -d /usr/share/gocode/src/github.com/gomodule/redigo/redis ]] ;;
        python3-redis) /usr/bin/python3 -c 'import redis' 2>&1 ;;
        python3-venv) /usr/bin/python3 -c "import ensurepip" ;;
        libgtest-dev) has_header gtest/gtest.h ;;
        librapidcheck-dev) has_header rapidcheck.h ;;
        libbenchmark-dev) has_header benchmark/benchmark.h ;;
        libtbb-dev) has_header tbb/concurrent_hash_map.h ;;
        libclang-rt-19-dev) compgen -G '/usr/lib/llvm-19/lib/clang/*/lib/*/libclang_rt.tsan*' ;;
        python3-matplotlib) /usr/bin/python3 -c 'import matplotlib' 2>&1 || python3 -c 'import matplotlib' 2>&1 ;;
        *) command -v "$1" ;;
    esac >/dev/null
}

# need <package>...: installs the missing packages, or prints the command that would.
need() {
    local package missing=()
    for package in "$@"; do
        [[ " ${missing[*]} " == *" $package "* ]] || installed "$package" || missing+=("$package")
    done
    if ((${#missing[@]} == 0)); then
        say "nothing is missing"
        return 0
    fi

    local as_root=()
    ((EUID == 0)) || as_root=(sudo)
    local by_hand="${as_root[*]} apt-get install --no-install-recommends ${missing[*]}"
    if ! command -v apt-get >/dev/null; then
        say "These packages (Debian's names) are missing, and there is no apt-get to install them: ${missing[*]}"
        return 1
    fi
    if ((EUID != 0)) && ! sudo -n true 2>/dev/null; then
        say "These packages are missing, and only root may install them. Run this and try again: $by_hand"
        return 1
    fi

    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
    say "installing ${missing[*]}"
    if ! "${apt[@]}" update || ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; then
        say "These packages are missing: ${missing[*]}. The command that failed: $by_hand"
        return 1
    fi
    for package in "${missing[@]}"; do
        installed "$package" || { say "$package was installed, but what it should bring is not there" && return 1; }
    done
}

# with_matplotlib: prints a Python that has matplotlib. The first Python in PATH may lack Debian's packages.
with_matplotlib() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import matplotlib' 2>/dev/null; then
            printf '%s\n' "$python"
            return 0
        fi
    done
    return 1
}

# ---- presets --------------------------------------------------------------------------------------------------

# The presets of `./dev test`. asan also has ubsan's checks, which saves a build.
presets_everything=(release check asan tsan)
presets_test=("${presets_everything[@]}" clang ubsan) # these have a test preset
presets_all=("${presets_test[@]}" aarch64)

# preset_packages <preset>: prints the packages of its compiler.
preset_packages() {
    case $1 in
        asan | clang | tsan | ubsan) printf '%s ' "${packages_clang[@]}" ;;
        aarch64) printf 'g++-aarch64-linux-gnu' ;;
    esac
}

# build_preset <preset> <targets> [cmake arguments]: `targets` is a list of words.
build_preset() {
    local preset=$1 targets
    read -ra targets <<<"$2"
    shift 2
    cmake --preset "$preset" "$@" && cmake --build --preset "$preset" --target "${targets[@]}" -j "$jobs"
}

project_version() { sed -n 's/^ *VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt | head -n 1; }
