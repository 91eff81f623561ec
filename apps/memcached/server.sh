# shellcheck shell=bash
# with_server <program> [its options] -- <client> [its options]: runs the client, which is told of the socket by a last
# --socket, beside a server of its own. Fails if either does; so a server that dies of an assertion is found.
with_server() {
    local server=() process status=0
    while [[ $1 != -- ]]; do
        server+=("$1")
        shift
    done
    shift
    socket=$(mktemp -u /tmp/tutti-mc.XXXXXX)
    "${server[@]}" -u "$(id -un)" -s "$socket" &
    process=$!
    for _ in $(seq 100); do
        [[ ! -S $socket ]] || break
        kill -0 "$process" 2>/dev/null || break
        sleep 0.1
    done
    "$@" --socket "$socket" || status=$?
    kill -INT "$process" 2>/dev/null || true
    wait "$process" || {
        echo "the server has ended with status $?: ${server[*]}"
        status=1
    }
    rm -f "$socket"
    return "$status"
}
