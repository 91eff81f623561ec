# shellcheck shell=bash disable=SC2154  # jobs comes from common.sh
# ./dev bare: runs the README's commands in a Debian 12 tree that has only apt, git and the certificates of authorities.

bare_dir=build/bare

bare_usage() {
    cat <<'EOF'
usage: ./dev bare run|test|build [arguments]

  Makes a Debian 12 tree that has only apt and git, clones HEAD into it, and runs `./dev run`, `./dev test` or
  `./dev build` there with the arguments. Needs root.

  run and test run twice: with hardware transactions where the processor has them, and in software. They run once, as
  told, if TUTTI_HARDWARE or ITM_DEFAULT_METHOD is set.

  The unpacked tree is build/bare/tree. The base tree and the fetched packages stay in build/bare for the next call;
  remove build/bare/debian.tar to make the base tree anew.
EOF
}

# bare_sources: prints the files of the host's apt sources that name Debian 12. Other sources stay out of the tree.
bare_sources() {
    local file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        if [[ -e $file ]] && grep -Eq '^(Suites:|deb ).*(^|[[:space:]])bookworm' "$file"; then
            printf '%s\n' "$file"
        fi
    done
}

# Makes the base tree, build/bare/debian.tar, from the host's apt sources and with the host's options for fetching.
bare_base() {
    [[ ! -e $bare_dir/debian.tar ]] || { say "$bare_dir/debian.tar is there" && return 0; }
    local sources
    mapfile -t sources < <(bare_sources)
    ((${#sources[@]} > 0)) || { say "the host's apt sources do not name Debian 12 (bookworm)" && return 1; }
    # Every fetch option that has a value, such as a proxy. mmdebstrap also writes these options into the tree.
    apt-config dump Acquire | grep -Ev '^Acquire::(IndexTargets|Changelogs|CompressionTypes|cdrom|Languages)|^[^ ]* "";$' \
        >"$bare_dir/apt.conf" || true
    mmdebstrap --variant=apt --include=git,ca-certificates --aptopt="$bare_dir/apt.conf" bookworm \
        "$bare_dir/making.tar" "${sources[@]}" || return
    mv "$bare_dir/making.tar" "$bare_dir/debian.tar"
}

# Unpacks the base tree, and clones HEAD into its /tutti. Also copies the host's resolver, hosts and additional
# authorities.
bare_tree() {
    local tree=$bare_dir/tree
    rm -rf --one-file-system "$tree"
    mkdir -p "$tree" "$bare_dir/archives"
    tar --extract --file="$bare_dir/debian.tar" --directory="$tree" --numeric-owner || return
    cp -L /etc/resolv.conf /etc/hosts "$tree/etc/" || return
    if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
        cp -L /usr/local/share/ca-certificates/*.crt "$tree/usr/local/share/ca-certificates/" || return
        chroot "$tree" update-ca-certificates || return
    fi
    git bundle create --quiet "$tree/tutti.bundle" HEAD || return
    chroot "$tree" git clone --quiet /tutti.bundle /tutti || return
    rm "$tree/tutti.bundle"
}

# bare_command [variable=value]... <command>...: runs the command in the tree's /tutti. When the command ends, its own
# mount and process namespaces end all its processes and mounts.
bare_command() {
    # shellcheck disable=SC2016  # expanded by the inner shell
    unshare --mount --pid --fork --kill-child bash -euc '
        tree=$1 archives=$2
        shift 2
        mount -t proc proc "$tree/proc"
        mount --rbind /sys "$tree/sys"
        mount --rbind /dev "$tree/dev"
        mount --bind "$archives" "$tree/var/cache/apt/archives"
        exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TUTTI_JOBS="$TUTTI_JOBS" \
            "${@:2:$1}" chroot "$tree" bash -c '\''cd /tutti && exec "$@"'\'' - "${@:2+$1}"
    ' - "$PWD/$bare_dir/tree" "$PWD/$bare_dir/archives" "$@"
}

command_bare() {
    local what=${1:---help} name status=0 own=()
    shift || true
    case $what in
        run | test | build) ;;
        -h | --help | help)
            bare_usage
            return
            ;;
        *)
            bare_usage >&2
            die "bare is followed by run, test or build, not '$what'"
            ;;
    esac
    ((EUID == 0)) || die "bare needs root: it makes a tree of Debian's and enters it"
    # A proxy in the environment is also for apt.
    for name in TUTTI_HARDWARE ITM_DEFAULT_METHOD http_proxy https_proxy no_proxy; do
        [[ -z ${!name:-} ]] || own+=("$name=${!name}")
    done
    export TUTTI_JOBS=$jobs
    local once=0
    if [[ $what == build || -n ${TUTTI_HARDWARE:-}${ITM_DEFAULT_METHOD:-} ]]; then once=1; fi
    steps $((once ? 4 : 5))
    mkdir -p "$bare_dir"
    step "packages" need mmdebstrap git
    step "make a bare Debian 12" bare_base
    step "unpack the tree and clone into it" bare_tree
    if ((once)); then
        try_step "bare $what" bare_command "${#own[@]}" "${own[@]}" ./dev "$what" "$@" || status=1
    else
        local hardware=("${own[@]}" TUTTI_HARDWARE=auto) # libitm uses hardware by default
        local software=("${own[@]}" TUTTI_HARDWARE=off ITM_DEFAULT_METHOD=ml_wt)
        try_step "bare $what with hardware transactions" bare_command "${#hardware[@]}" "${hardware[@]}" ./dev "$what" "$@" ||
            status=1
        try_step "bare $what in software" bare_command "${#software[@]}" "${software[@]}" ./dev "$what" "$@" || status=1
    fi
    ((status == 0)) || die "bare $what failed; the tree is $bare_dir/tree"
}
