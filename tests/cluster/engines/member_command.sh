#!/bin/bash
# Tests `tutti member`: a group of three made by the command alone, its status, a member that leaves, and refused calls.
# With the script that makes certificates, everything runs under TLS.
#
#   member_command.sh <tutti> <tutti-cluster> [<certificates.sh>]
set -euo pipefail
tutti=$1 program=$2 certificates=${3-}
folder=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT

fail() {
    printf 'member_command: %s\n' "$*" >&2
    tail -n 5 "$folder"/*.log >&2 || true
    exit 1
}
# A loopback address that no other process uses, because it contains this process's id. The kernel cannot give its ports
# away before a member listens there.
home=127.$((1 + ($$ >> 16))).$(($$ >> 8 & 255)).$(($$ & 255))
# says <status> <text> <command>...
says() {
    local status=0 text
    text=$("${@:3}" 2>&1) || status=$?
    ((status == $1)) || fail "status $status of ${*:3}: $text"
    [[ $text == *"$2"* ]] || fail "'$2' is missing: $text"
}
# until_well <command>...
until_well() {
    for ((i = 0; i < 200; ++i)); do
        "$@" >"$folder/out" 2>&1 && return
        sleep 0.05
    done
    fail "never: $* $(cat "$folder/out")"
}

# files <name>: prints the TLS options. Member b gets them from the environment.
files() { printf -- '--certificate %s/%s.pem --key %s/%s.key --authority %s/ca.pem' "$folder" "$1" "$folder" "$1" "$folder"; }
as_a=() as_b=() as_c=() as_program=()
if [[ -n $certificates ]]; then
    "$certificates" "$folder" 3 tutti member
    read -ra as_a <<<"$(files member-0)"
    read -ra as_c <<<"$(files member-2)"
    read -ra as_program <<<"$(files program)"
    as_b=(env "TUTTI_CLUSTER_CERTIFICATE=$folder/member-1.pem" "TUTTI_CLUSTER_KEY=$folder/member-1.key"
        "TUTTI_CLUSTER_AUTHORITY=$folder/ca.pem" TUTTI_CLUSTER_NAME=tutti)
fi
status() { "$tutti" member status "$@" "${as_program[@]}"; }
bank() { "$program" --engine "tutti://$1" "${as_program[@]}" --workload bank --objects 50 --seconds 0.3; }

a=$home:7001 b=$home:7002 c=$home:7003
"$tutti" member run --data-dir "$folder/a" --listen "$a" --new-group --metrics "$home:0" "${as_a[@]}" \
    >"$folder/a.log" 2>&1 &
pids+=($!)
until_well status --group "$a"
"${as_b[@]}" "$tutti" member run --data-dir "$folder/b" --listen "$b" --join "$a" >"$folder/b.log" 2>&1 &
pids+=($!)
"$tutti" member run --data-dir "$folder/c" --listen "$c" --join "$a,$b" --log-json "${as_c[@]}" >"$folder/c.log" 2>&1 &
pids+=($!)
three() { [[ $(status --group "$b" | grep -c -E 'leader|follower') == 3 ]]; }
until_well three
says 0 "the invariant holds" bank "$a,$b,$c"

# Saves the objects to a file, and restores them in another group.
saved=$(bank "$a,$b,$c" | sed -n 's/.* under the prefix \([-a-z0-9]*\).*/\1/p')
f=$home:7011
"$tutti" member run --data-dir "$folder/f" --listen "$f" --new-group "${as_a[@]}" >"$folder/f.log" 2>&1 &
pids+=($!)
until_well status --group "$f"
objects() { "$tutti" member "$1" --group "$2" --prefix "$saved" "${@:3}" "${as_program[@]}"; }
says 0 "are in $folder/saved" objects snapshot "$a" --output "$folder/saved"
says 0 "are in the group" objects restore "$f" --input "$folder/saved"
says 1 "has objects of '$saved' already" objects restore "$f" --input "$folder/saved"
objects export "$b" | cut -d, -f1,3 >"$folder/one"
objects export "$f" | cut -d, -f1,3 >"$folder/other"
[[ -s $folder/one ]] || fail "nothing was exported"
cmp "$folder/one" "$folder/other" || fail "what was restored is not what was saved"

# The metrics for Prometheus.
port=$(sed -n 's/.*metrics on port \([0-9]*\) of loopback.*/\1/p' "$folder/a.log")
page() {
    exec 3<>"/dev/tcp/$home/$port"
    printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
    cat <&3
}
page >"$folder/page"
for name in 'tutti_member_is_leader 1' 'tutti_member_is_voter 1' tutti_member_objects process_cpu_seconds_total \
    process_open_fds 'part="member"} 1'; do
    grep -qF -- "$name" "$folder/page" || fail "no '$name' among the metrics"
done
says 1 "loopback" "$tutti" member run --data-dir "$folder/m" --listen "$home:7010" --new-group --metrics 10.0.0.1:1 \
    "${as_a[@]}"

# Objects over two groups.
d=$home:7005
"$tutti" member run --data-dir "$folder/g" --listen "$d" --new-group "${as_a[@]}" >"$folder/g.log" 2>&1 &
pids+=($!)
until_well status --group "$d"
says 0 "the invariant holds" bank "$a,$b,$c;$d"
says 0 " prepared" status --group "$d"
says 0 '"prepared": 0' status --group "$d" --json

# A third group joins, and the second leaves.
e=$home:7008
"$tutti" member run --data-dir "$folder/h" --listen "$e" --new-group "${as_a[@]}" >"$folder/h.log" 2>&1 &
pids+=($!)
until_well status --group "$e"
prefix=$(bank "$a,$b,$c;$d" | sed -n 's/.* under the prefix \([-a-z0-9]*\).*/\1/p')
groups() { "$tutti" member "$1" --groups "$a,$b,$c;$d" --prefix "$prefix" "${@:2}" "${as_program[@]}"; }
says 0 "  128  " groups groups
says 0 "slots moved" groups rebalance --add "$e"
says 0 "   85  $e" groups groups
says 0 "    0  $d (has left)" groups rebalance --remove "$d"
says 0 '"left": true' groups groups --json
says 1 "begin a new group instead" groups rebalance --add "$d"
says 0 "  128  $e" groups rebalance
alone=$(bank "$e" | sed -n 's/.* under the prefix \([-a-z0-9]*\).*/\1/p')
says 1 "in one group and cannot move" "$tutti" member rebalance --groups "$e" --prefix "$alone" "${as_program[@]}"
says 1 "no program has used" "$tutti" member groups --groups "$e" --prefix nobody "${as_program[@]}"

# The first member is killed. Another one leads, and the status reports the problem.
kill -9 "${pids[0]}"
led() { [[ $(status --group "$b" || true) == *" leader "* ]]; }
until_well led
says 1 "cannot be reached" status --group "$b,$c"
says 0 "the invariant holds" bank "$a,$b,$c"
says 2 "is not a member" "$tutti" member remove 127.0.0.1:1 --group "$b" "${as_program[@]}"
if [[ -n $certificates ]]; then
    says 1 "the certificate of a member" "$tutti" member remove "$a" --group "$b" "${as_program[@]}"
    says 1 "speaks TLS, and this side does not" "$tutti" member status --group "$b"
    says 1 "is made for program.tutti" "$tutti" member run --data-dir "$folder/d" --listen "$home:7006" --join "$b" \
        "${as_program[@]}"
    says 1 "three files" "$tutti" member status --group "$b" --certificate "$folder/program.pem"
    says 1 "must be made for program.bank" "$tutti" member status --group "$b" --name bank "${as_program[@]}"
    says 1 "speaks TLS, and this side does not" "$program" --engine "tutti://$b" --workload bank --failure-timeout 1
fi
says 0 "has left the group" "$tutti" member remove "$a" --group "$b" "${as_a[@]}"
says 0 '"leader": "127.' status --group "$c" --json

# SIGTERM ends a member cleanly.
kill -TERM "${pids[2]}"
wait "${pids[2]}" || fail "status $? after SIGTERM"
grep -q '"ended"\|ended' "$folder/c.log" || fail "it does not say that it has ended"
says 1 "which is not a majority" status --group "$b"

# Checks a member's folder, and a damaged copy. The file with the latest entries is the last one by name.
says 0 "The log is whole." "$tutti" log check "$folder/c"
cp -r "$folder/c" "$folder/damaged"
logged=$(find "$folder/damaged/log" -name '0*-0*' | sort | tail -n 1)
printf '\xff' | dd of="$logged" bs=1 seek=30 conv=notrunc status=none
says 1 "is damaged at byte 8" "$tutti" log check "$folder/damaged"
says 1 "$logged is damaged at byte 8" "$tutti" member run --data-dir "$folder/damaged" "${as_c[@]}"
says 1 "no member lives in" "$tutti" log check "$folder"

# A member that cannot be let in also ends on SIGTERM.
"$tutti" member run --data-dir "$folder/e" --listen "$home:7004" --join "$b" "${as_c[@]}" >"$folder/e.log" 2>&1 &
pids+=($!)
joins() { grep -q "not admitted yet" "$folder/e.log"; }
until_well joins
kill -TERM "${pids[-1]}"
timeout 20 tail --pid="${pids[-1]}" -f /dev/null || fail "it does not end while it waits to be let in"

# Changes the address of a member that does not run.
says 1 "tutti member readdress" "$tutti" member run --data-dir "$folder/c" --listen "$home:7009" "${as_c[@]}"
says 2 "give OLD=NEW" "$tutti" member readdress --data-dir "$folder/c" "$c"
says 1 "has no member at 127.0.0.1:1" "$tutti" member readdress --data-dir "$folder/c" "127.0.0.1:1=$home:7009"
says 0 "the member at $c is at $home:7009 now" "$tutti" member readdress --data-dir "$folder/c" "$c=$home:7009"
says 1 "there is no folder" "$tutti" member readdress --data-dir "$folder/nobody" "$c=$home:7009"
"$tutti" member run --data-dir "$folder/c" --listen "$home:7009" "${as_c[@]}" >"$folder/c2.log" 2>&1 &
pids+=($!)
moved() { status --group "$b" | grep -q "$home:7009 .*follower\|$home:7009 .*leader"; }
until_well moved

# The member goes on without the other one.
kill -9 "${pids[-1]}"
wait "${pids[-1]}" 2>/dev/null || true
says 0 "the only one of a new group" "$tutti" member force-new-group --data-dir "$folder/c" "${as_c[@]}"
"$tutti" member run --data-dir "$folder/c" "${as_c[@]}" >"$folder/c3.log" 2>&1 &
pids+=($!)
until_well status --group "$home:7009"
says 0 "the invariant holds" bank "$home:7009"

says 1 "is new: let its member begin a group" "$tutti" member run --data-dir "$folder/d" --listen 127.0.0.1:1
says 1 "loopback" "$tutti" member run --data-dir "$folder/d" --listen 10.0.0.1:7001 --new-group
says 1 "another process" "$tutti" member run --data-dir "$folder/b" "${as_a[@]}"
says 1 "cannot be reached" "$tutti" member status --group 127.0.0.1:1
says 2 "--group" "$tutti" member status
