# shellcheck shell=bash
# with_server <program> [its options] -- <client> [its options]: runs the client beside its own server. The client gets
# the socket by a final --socket. Fails if either of them fails, so an assertion failure of the server is found.
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
