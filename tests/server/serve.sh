#!/usr/bin/env bash
# What users do with `tutti serve`, by the clients of Redis: serve.sh <case> <tutti> <shared object> [another program]
set -euo pipefail

case=$1 tutti=$2 object=$3
folder=$(mktemp -d)
server=''
listener=''
clean_up() {
    for left in $server $listener; do kill -KILL "$left" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap clean_up EXIT

fail() {
    printf 'serve.sh: %s\n' "$*" >&2
    cat "$folder/log" >&2
    exit 1
}

# start <option>...: leaves the port in $port.
start() {
    (
        ulimit -n "${descriptors:-$(ulimit -n)}"
        exec "$tutti" serve "$object" --port 0 --port-file "$folder/port" "$@" >"$folder/log" 2>&1
    ) &
    server=$!
    until [[ -e $folder/port ]]; do
        kill -0 "$server" 2>/dev/null || fail "the server did not start"
        sleep 0.02
    done
    port=$(<"$folder/port")
}

# stop: ends the server in good order, and fails if it says otherwise.
stop() {
    kill -TERM "$server"
    wait "$server" || fail "the server ended with status $?"
    server=
}

# info_has <extended regular expression>: by a file, because redis-cli would die of a pipe whose reader has seen enough.
info_has() {
    redis-cli -p "$port" INFO >"$folder/info"
    grep -Eq "$1" "$folder/info"
}

# ask <descriptor> <command>: leaves the answer's line in $answer.
ask() {
    printf '%s\r\n' "$2" >&"$1"
    read -r answer <&"$1"
}

# stop_during_a_call: what was accepted is answered, and the server ends in good order.
stop_during_a_call() {
    mkfifo "$folder/held"
    redis-cli -p "$port" CALL hold_open "$folder/held" >"$folder/answer" &
    client=$!
    exec {idle}<>"/dev/tcp/127.0.0.1/$port"
    ask "$idle" PING
    exec {held}>"$folder/held" # opens when the procedure has opened it
    kill -TERM "$server"
    cat <&"$idle" >"$folder/rest" # who waits for no answer is sent away as soon as the end has begun
    exec {idle}>&- {held}>&-      # the call ends
    wait "$server" || fail "the server ended with status $?"
    server=
    wait "$client"
    [[ $(<"$folder/answer") == OK ]] || fail "what was accepted was answered by '$(<"$folder/answer")'"
}

# expect <answer> <word>...
expect() {
    local expected=$1 answer
    shift
    answer=$(redis-cli -p "$port" "$@")
    [[ $answer == "$expected"* ]] || fail "$* was answered by '$answer' and not by '$expected'"
}

case $case in
    cli)
        start
        expect PONG PING
        expect hello ECHO hello
        expect OK CALL transfer 1 2 30
        expect 1030 CALL balance 2 PRIORITY 7 DEADLINE 1000000
        expect "NOPROC" CALL nothing
        "$tutti" serve "$object" --check --port "$port" >"$folder/checked" || fail "beside a server there is no check"
        expect "$(printf '7\n1')" CALL PRIORITY 7 DEADLINE 5000 how
        answer=$(redis-cli -3 -p "$port" CALL maybe 0.5)
        [[ $answer == "(double) 0.5" || $answer == 0.5 ]] || fail "no RESP3"
        printf 'CALL count\nCALL count\nCALL count\n' | redis-cli -p "$port" >"$folder/answers"
        [[ $(<"$folder/answers") == "$(printf '1\n2\n3')" ]] || fail "$(<"$folder/answers")"
        stop
        grep -q '^ended$' "$folder/log" || fail "no word of its end"
        ;;
    benchmark)
        start
        redis-benchmark -p "$port" -n 20000 -P 16 -c 20 -q CALL count >"$folder/benchmark"
        redis-benchmark -p "$port" -n 2000 -c 20 -q CALL transfer 1 2 0 >>"$folder/benchmark"
        expect 20001 CALL count
        info_has '^procedure_transfer:OK=2000,' || fail "calls were lost"
        stop
        ;;
    unix)
        "$tutti" serve "$object" --no-tcp --unix "$folder/socket" --port-file "$folder/port" >"$folder/log" 2>&1 &
        server=$!
        until [[ -e $folder/port ]]; do sleep 0.02; done
        [[ $(redis-cli -s "$folder/socket" CALL balance 1) == 1000 ]] || fail "no answer"
        stop
        ;;
    inherited)
        # As systemd does it: descriptor 3 listens, and the process of that number is told so.
        start_inherited() {
            perl -MPOSIX=dup2 -MIO::Socket::INET -e '
                my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", LocalPort => 0) or die;
                dup2(fileno($s), 3) or die;
                @ENV{"LISTEN_FDS", "LISTEN_PID"} = (1, $$);
                exec @ARGV' "$tutti" serve "$object" --port-file "$folder/port" >"$folder/log" 2>&1 &
            server=$!
        }
        start_inherited
        until [[ -e $folder/port ]]; do sleep 0.02; done
        port=$(<"$folder/port")
        expect OK CALL noop
        grep -q "serving on 1 inherited socket" "$folder/log" || fail "no word of it"
        ! grep -q 7411 "$folder/log" || fail "it listens elsewhere, too"
        stop
        ;;
    notify)
        # As systemd listens to it: ready once it serves and not before, then signs of life, then word of its end.
        python3 - "$folder/notify" "$folder/told" <<'PYTHON' &
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
with open(sys.argv[2], "w", encoding="utf-8") as told:
    while word := listener.recv(100).decode():
        told.write(word + "\n")
        told.flush()
        if word == "STOPPING=1":
            break
PYTHON
        listener=$!
        until [[ -S $folder/notify ]]; do
            kill -0 "$listener" 2>/dev/null || fail "nobody listens"
            sleep 0.02
        done
        mkfifo "$folder/await"
        NOTIFY_SOCKET=$folder/notify WATCHDOG_USEC=80000 "$tutti" serve "$object" --port 0 --port-file "$folder/port" \
            --set await="$folder/await" >"$folder/log" 2>&1 &
        server=$!
        exec {await}>"$folder/await" # opens when the procedures have opened it
        # What it has said by now comes before this.
        python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"it still loads", sys.argv[1])' "$folder/notify"
        exec {await}>&-
        until [[ -e $folder/told && $(grep -c '^WATCHDOG=1$' "$folder/told") -gt 2 ]]; do sleep 0.02; done
        port=$(<"$folder/port")
        expect OK CALL noop
        stop
        wait "$listener"
        listener=''
        [[ $(head -n 2 "$folder/told") == "$(printf 'it still loads\nREADY=1')" ]] || fail "it told: $(<"$folder/told")"
        ;;
    crash)
        # SIGABRT and SIGSEGV
        for executor in "" threads; do
            for signal in 6 11; do
                rm -f "$folder/port"
                start --workers 1 ${executor:+--executor "$executor"}
                redis-cli -p "$port" CALL crash "$signal" "12 letters.." >"$folder/answer" 2>&1 || true
                status=0
                wait "$server" || status=$?
                server=
                ((status == 128 + signal)) || fail "it ended with status $status"
                grep -q "^tutti: signal $signal (.*) in procedure 'crash', priority 3, 2 arguments of 1[34] bytes; it came from:" \
                    "$folder/log" || fail "no word of what happened"
                grep -q 'libbank_procedures.so' "$folder/log" || fail "no word of where"
            done
        done
        ;;
    stuck)
        for ticks in periodic none on-demand; do
            rm -f "$folder/port"
            start --workers 1 --time-limit 20 --ticks "$ticks"
            # A loop is ended where it stands, and so are one that takes no notice of being cancelled and one that mostly
            # runs code of the C library. A call that is answered may be about to leave its worker.
            for name in hold ignore watch_clock; do
                [[ $(redis-cli -p "$port" CALL "$name") == TIMEOUT* ]] || fail "it was not answered"
                until info_has "^procedure_$name:.*,TIMEOUT=1"; do sleep 0.02; done
                until info_has "^running:0"; do sleep 0.02; done
            done
            [[ $ticks == on-demand ]] || stop
        done
        # What waits in the C library is not, but named.
        mkfifo "$folder/held"
        [[ $(redis-cli -p "$port" CALL hold_open "$folder/held") == TIMEOUT* ]] || fail "it was not answered"
        until grep -q "^tutti: a call past its time limit of 20 ms cannot be ended, and keeps its worker: in procedure 'hold_open'" \
            "$folder/log"; do sleep 0.02; done
        exec {held}>"$folder/held"
        exec {held}>&-
        stop
        [[ $(grep -c "cannot be ended" "$folder/log") == 1 ]] || fail "it was said more than once"
        ;;
    kept)
        # What keeps its worker is named although it has no time limit, and once; what waits in retry is not.
        mkfifo "$folder/held"
        for executor in "" threads; do
            rm -f "$folder/port"
            start --workers 2 --stuck-after 50 ${executor:+--executor "$executor"}
            redis-cli -p "$port" CALL take >"$folder/taken" &
            taker=$!
            until info_has '^procedure_take:' && info_has '^(running|parked):1'; do sleep 0.01; done
            for call in 1 2; do
                redis-cli -p "$port" CALL hold_open "$folder/held" >"$folder/answer" &
                client=$!
                until [[ $(grep -c "^tutti: a call has kept its worker for 50 ms: in procedure 'hold_open'" "$folder/log") == "$call" ]]; do
                    sleep 0.02
                done
                exec {held}>"$folder/held"
                exec {held}>&-
                wait "$client"
            done
            expect OK CALL put 1
            wait "$taker"
            stop
            [[ $(grep -c "kept its worker" "$folder/log") == 2 ]] || fail "too much is named"
        done
        ;;
    python)
        printf 'slow-log-slower-than = 0\nslow-log-max-len = 5\n' >"$folder/slow.toml"
        start --config "$folder/slow.toml"
        "$4" "$(dirname "$0")/redis_py.py" "$port" >"$folder/python" 2>&1 || fail "$(<"$folder/python")"
        "$4" "$5" "$port" >"$folder/python" 2>&1 || fail "$(<"$folder/python")"
        expected=$(printf "moved: OK\nleft: 970\nboth: ['OK', 'OK']\nneither: CANCELLED\nleft: 980")
        [[ $(<"$folder/python") == "$expected" ]] || fail "$(<"$folder/python")"
        stop
        ;;
    hiredis)
        start
        "$4" "$port" >"$folder/told" 2>&1 || fail "$(<"$folder/told")"
        expected=$(printf "moved: OK\nleft: 970\nboth: OK OK\nneither: CANCELLED\nneither: NOPROC\nleft: 980")
        [[ $(<"$folder/told") == "$expected" ]] || fail "$(<"$folder/told")"
        stop
        "$4" "$port" >"$folder/told" 2>&1 && fail "it was answered without a server: $(<"$folder/told")"
        grep -q "refused" "$folder/told" || fail "no reason: $(<"$folder/told")"
        ;;
    example)
        # client <port>: an example of a client, by the words that start it, once a server, and once one whose answer to
        # its first call gets lost.
        client() { "${@:2}" "$1" >"$folder/told" 2>&1; }
        proxy=$4
        shift 4
        expected=$(printf "moved: OK\nleft: 970\nboth: OK OK\nneither: CANCELLED\nleft: 980")
        start
        client "$port" "$@" || fail "$(<"$folder/told")"
        [[ $(<"$folder/told") == "$expected" ]] || fail "$(<"$folder/told")"
        stop
        client "$port" "$@" && fail "it was answered without a server: $(<"$folder/told")"
        grep -qi 'refused' "$folder/told" || fail "no reason: $(<"$folder/told")"
        rm "$folder/port"
        start
        python3 "$proxy" "$port" "$folder/proxy" >"$folder/forgets" 2>&1 &
        listener=$!
        until [[ -e $folder/proxy ]]; do
            kill -0 "$listener" 2>/dev/null || fail "no proxy: $(<"$folder/forgets")"
            sleep 0.02
        done
        client "$(<"$folder/proxy")" "$@" || fail "an answer was lost, and the client with it: $(<"$folder/told")"
        [[ $(<"$folder/told") == "$expected" ]] || fail "with an answer lost: $(<"$folder/told")"
        info_has '^procedure_transfer:OK=1,' || fail "a call with an ID was run twice"
        stop
        ;;
    upgrade)
        python3 "$4" "$tutti" "$folder" "$object" "$5" "$6" >"$folder/told" 2>&1 || fail "$(<"$folder/told")"
        ;;
    password)
        printf 'open sesame\r\n' >"$folder/password"
        start --password-file "$folder/password"
        expect NOAUTH CALL noop
        expect WRONGPASS AUTH 'open, says me'
        [[ $(REDISCLI_AUTH='open sesame' redis-cli -p "$port" CALL noop) == OK ]] || fail "the password does not open"
        REDISCLI_AUTH='open sesame' info_has '^logins_failed:1.$' || fail "the wrong password is not counted"
        stop
        ;;
    users)
        hashed() { perl -e 'print crypt($ARGV[0], "\$y\$j75\$saltsalt")' "$1"; }
        cat >"$folder/users.toml" <<TOML
metrics-port = 0
[users.clerk]
password = "$(hashed secret)"
calls = ["balance", "c*"]
priority = 4
[users.chief]
password = "$(hashed more)"
operates = true
TOML
        start --config "$folder/users.toml"
        expect NOAUTH CALL balance 1
        as() { REDISCLI_AUTH=$2 redis-cli -p "$port" --user "$1" --no-auth-warning "${@:3}" 2>&1; }
        [[ $(as clerk secret ACL WHOAMI) == clerk ]] || fail "redis-cli is somebody else"
        [[ $(as clerk secret -3 CALL balance 1) == "(integer) 1000" || $(as clerk secret CALL balance 1) == 1000 ]] ||
            fail "the clerk may not call what it may"
        [[ $(as clerk secret CALL transfer 1 2 3) == NOPERM* ]] || fail "the clerk may call what it may not"
        [[ $(as clerk secret CALL PRIORITY 5 count) == ARGUMENT* ]] || fail "the clerk is too urgent"
        [[ $(as clerk wrong CALL balance 1) == *WRONGPASS* ]] || fail "any password will do"
        [[ $(as chief more CALL transfer 1 2 3) == OK ]] || fail "the chief may not call"
        metrics=$(sed -n 's|^metrics on http://127.0.0.1:\([0-9]*\)/metrics$|\1|p' "$folder/log")
        exec 3<>"/dev/tcp/127.0.0.1/$metrics"
        printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
        cat <&3 >"$folder/metrics"
        grep -q '^tutti_logins_failed_total 1$' "$folder/metrics" || fail "the login that failed is not counted"
        if python3 -c 'import redis' 2>/dev/null; then
            python3 - "$port" <<'PYTHON' || fail "redis-py is not let in"
import sys, redis
port = int(sys.argv[1])
clerk = redis.Redis(port=port, username="clerk", password="secret", decode_responses=True)
assert clerk.acl_whoami() == "clerk"
for error, command in ((redis.exceptions.NoPermissionError, "CALL transfer 1 2 3"),
                       (redis.exceptions.NoPermissionError, "CLIENT LIST")):
    try:
        clerk.execute_command(*command.split())
    except error:
        continue
    raise AssertionError(command)
try:
    redis.Redis(port=port, username="clerk", password="more").ping()
except redis.exceptions.AuthenticationError:
    pass
else:
    raise AssertionError("any password will do")
PYTHON
        fi
        printf more >"$folder/chief"
        printf secret >"$folder/clerk"
        trace() {
            "$tutti" timeline --port "$port" --seconds 0.1 --output "$folder/trace" --user "$1" \
                --password-file "$folder/$1" 2>&1
        }
        said=$(trace chief) || fail "the operator may not record: $said"
        said=$(trace clerk) && fail "the clerk may record: $said"
        [[ $said == *NOPERM* ]] || fail "the clerk is not told why: $said"
        # The same from the environment, which no list of processes shows to others.
        TUTTI_USER=chief TUTTI_PASSWORD=more "$tutti" timeline --port "$port" --seconds 0.1 --output "$folder/trace" \
            >"$folder/said" 2>&1 || fail "the operator's environment is not read: $(<"$folder/said")"
        status=0
        "$tutti" top --port "$port" --looks 1 --user clerk >"$folder/said" 2>&1 || status=$?
        [[ $status == 2 ]] || fail "a user without a password is no mistake"
        grep -q 'user clerk needs a password: give --password-file FILE, or TUTTI_PASSWORD' "$folder/said" ||
            fail "$(<"$folder/said")"
        # Who has not been let in keeps no end waiting.
        exec {stranger}<>"/dev/tcp/127.0.0.1/$port"
        printf 'AUTH clerk secret\r\n' >&"$stranger"
        stop
        ;;
    tls)
        for name in server client elsewhere; do
            address=127.0.0.1
            [[ $name != elsewhere ]] || address=127.0.0.9
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$name" \
                -addext "subjectAltName=IP:$address" -keyout "$folder/$name.key" -out "$folder/$name.pem" \
                2>"$folder/openssl"
        done
        start --tls-certificate "$folder/server.pem" --tls-key "$folder/server.key" \
            --tls-client-authority "$folder/client.pem"
        secure=(--tls --cacert "$folder/server.pem" -h 127.0.0.1 -p "$port")
        mine=(--cert "$folder/client.pem" --key "$folder/client.key")
        [[ $(redis-cli "${secure[@]}" "${mine[@]}" CALL balance 1) == 1000 ]] || fail "no answer under TLS"
        [[ $(redis-cli "${secure[@]}" "${mine[@]}" CALL large 300000 | wc -c) == 300001 ]] ||
            fail "a long answer was cut"
        ! redis-cli "${secure[@]}" PING >"$folder/stranger" 2>&1 || ! grep -q PONG "$folder/stranger" ||
            fail "a stranger came in"
        ! redis-cli -p "$port" PING >"$folder/clear" 2>&1 || ! grep -q PONG "$folder/clear" ||
            fail "it answers in the clear"
        redis-benchmark "${secure[@]}" "${mine[@]}" -n 5000 -P 8 -c 5 -q CALL count >"$folder/benchmark"
        [[ $(redis-cli "${secure[@]}" "${mine[@]}" CALL count) == 5001 ]] || fail "calls were lost under TLS"
        # Our own tools: with what they need, and told what is wrong without it.
        look() { "$tutti" top --port "$port" --seconds 0.05 --looks 1 "$@" >"$folder/top" 2>&1; }
        trusts=(--tls-authority "$folder/server.pem")
        shows=(--tls-certificate "$folder/client.pem" --tls-key "$folder/client.key")
        look "${trusts[@]}" "${shows[@]}" || fail "tutti top is not let in: $(<"$folder/top")"
        grep -qE '^count +3 ' "$folder/top" || fail "tutti top: $(<"$folder/top")"
        "$tutti" timeline --port "$port" --seconds 0.1 --output "$folder/trace" "${trusts[@]}" "${shows[@]}" \
            >"$folder/said" 2>&1 || fail "tutti timeline is not let in: $(<"$folder/said")"
        grep -q traceEvents "$folder/trace" || fail "no trace under TLS"
        ! look "${trusts[@]}" || fail "it was let in without a certificate"
        grep -q 'the server went away: .*certificate' "$folder/top" || fail "tutti top: $(<"$folder/top")"
        ! look --tls "${shows[@]}" || fail "it trusts a certificate that nobody has signed"
        grep -q 'the certificate of 127.0.0.1 is not to be trusted: self' "$folder/top" || fail "tutti top: $(<"$folder/top")"
        ! look --tls-authority "$folder/nowhere.pem" || fail "it takes an authority that there is not"
        grep -q 'TLS: authority .*nowhere.pem' "$folder/top" || fail "tutti top: $(<"$folder/top")"
        stop
        # Who never ends its handshake is a stranger, although there is no password. Nor is a server one to trust that
        # shows a certificate of another address.
        rm "$folder/port"
        start --tls-certificate "$folder/elsewhere.pem" --tls-key "$folder/elsewhere.key" --login-timeout 100
        ! look --tls-authority "$folder/elsewhere.pem" || fail "any server will do"
        grep -q 'is not to be trusted: IP address mismatch' "$folder/top" || fail "tutti top: $(<"$folder/top")"
        ! look || fail "it is answered in the clear"
        grep -q 'the server went away' "$folder/top" || fail "tutti top: $(<"$folder/top")"
        exec {silent}<>"/dev/tcp/127.0.0.1/$port"
        cat <&"$silent" >"$folder/silence" || fail "it was not just closed"
        stop
        ;;
    follow)
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=localhost" \
            -addext "subjectAltName=IP:127.0.0.1" -keyout "$folder/key" -out "$folder/certificate" 2>"$folder/openssl"
        printf '[users.%s]\npassword = "%s"\noperates = %s\n' \
            default "$(openssl passwd -6 open)" false copier "$(openssl passwd -6 secret)" true >"$folder/users.toml"
        printf 'secret\n' >"$folder/password"
        printf 'open\n' >"$folder/other"
        start --config "$folder/users.toml" --executor threads --log "$folder/leader" --fsync always \
            --tls-certificate "$folder/certificate" --tls-key "$folder/key" --unix "$folder/socket"
        leader=$server leading=$port
        ask_leader=(redis-cli -s "$folder/socket" --no-auth-warning --user copier --pass secret)
        [[ $("${ask_leader[@]}" CALL transfer 1 2 30) == OK ]] || fail "no transfer"
        for wrong in "--follow-password-file $folder/other --follow-user copier" "--follow-password-file $folder/other"; do
            # shellcheck disable=SC2086 # two options
            ! "$tutti" serve "$object" --port 0 --executor threads --log "$folder/stranger" --follow "127.0.0.1:$leading" \
                --follow-tls-authority "$folder/certificate" $wrong >"$folder/refused" 2>&1 || fail "a stranger follows"
            grep -qE 'WRONGPASS|NOPERM' "$folder/refused" || fail "$(<"$folder/refused")"
        done
        rm "$folder/port"
        listener=$leader
        start --executor threads --log "$folder/follower" --fsync always --follow "127.0.0.1:$leading" --follow-user copier \
            --follow-password-file "$folder/password" --follow-tls-authority "$folder/certificate" --metrics-port 0
        [[ $("${ask_leader[@]}" WAIT 1 0) == 1 ]] || fail "nobody has it"
        expect "READONLY" CALL transfer 1 2 3
        info_has '^role:follower' || fail "it does not follow"
        metrics=$(sed -n 's|^metrics on http://127.0.0.1:\([0-9]*\)/metrics$|\1|p' "$folder/log")
        exec 3<>"/dev/tcp/127.0.0.1/$metrics"
        printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
        cat <&3 >"$folder/metrics"
        grep -q '^tutti_leads 0' "$folder/metrics" || fail "$(<"$folder/metrics")"
        grep -q '^tutti_leader_connected 1' "$folder/metrics" || fail "$(<"$folder/metrics")"
        kill -KILL "$leader"
        "$tutti" promote --port "$port" >"$folder/promoted"
        grep -q 'leads now' "$folder/promoted" || fail "$(<"$folder/promoted")"
        expect 970 CALL balance 1
        expect OK CALL transfer 1 2 70
        info_has '^term:2' || fail "no new term"
        ! "$tutti" promote --host 127.0.0.1 --port "$leading" 2>"$folder/promoted" || fail "nobody was promoted"
        stop
        ;;
    top)
        start
        redis-benchmark -p "$port" -n 2000 -P 8 -c 5 -q CALL transfer 1 2 0 >"$folder/benchmark"
        expect "EXCEPTION" CALL fail why
        "$tutti" top --port "$port" --seconds 0.1 --looks 2 >"$folder/top"
        grep -qE '^transfer +5 ' "$folder/top" || fail "$(<"$folder/top")"
        grep -qE '^fail +EXCEPTION +[0-9]+ +1$' "$folder/top" || fail "$(<"$folder/top")"
        grep -qE '^preemptions/s [0-9]+, promotions/s [0-9]+, parkings/s [0-9]+' "$folder/top" || fail "$(<"$folder/top")"
        stop
        ! "$tutti" top --port "$port" --looks 1 2>"$folder/top" || fail "there is nobody to look at"
        grep -q 'cannot be reached' "$folder/top" || fail "$(<"$folder/top")"
        ;;
    metrics)
        start --metrics-port 0
        info_has '^used_memory_rss:[1-9][0-9]{5,}' || fail "no memory"
        expect OK CALL transfer 1 2 3
        expect OK CALL put 1
        expect OK CALL take
        metrics=$(sed -n 's|^metrics on http://127.0.0.1:\([0-9]*\)/metrics$|\1|p' "$folder/log")
        exec 3<>"/dev/tcp/127.0.0.1/$metrics"
        printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
        cat <&3 >"$folder/metrics"
        expect OK CALL PRIORITY 3 transfer 1 2 3
        expect OK CALL PRIORITY 4 transfer 1 2 3
        exec 3<>"/dev/tcp/127.0.0.1/$metrics"
        printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
        cat <&3 >"$folder/later"
        grep -q '^tutti_turnaround_seconds_count{procedure="transfer",priority="5"} 1' "$folder/later" ||
            fail "no histogram"
        grep -q '^tutti_turnaround_seconds_count{procedure="transfer",priority="other"} 2' "$folder/later" ||
            fail "a histogram for each priority that clients choose"
        grep -q "^process_resident_memory_bytes [1-9]" "$folder/metrics" || fail "no memory"
        ! grep -q "^tutti_log_" "$folder/metrics" || fail "a log that there is not"
        for zero in 'turnaround_seconds_count{procedure="balance",priority="4"}' 'waiting_calls{priority="7"}' \
            'calls_total{procedure="balance",ending="TIMEOUT"}' 'aborts_total{block="transfer",cause="killed"}'; do
            grep -qF "tutti_$zero 0" "$folder/metrics" || fail "no zero: $zero"
        done
        grep -q '^tutti_commits_total{block="transfer"} 1' "$folder/metrics" || fail "no commits"
        [[ $(grep '^tutti_commits_total{block="coins"}' "$folder/metrics") == *'"} 2' ]] ||
            fail "blocks of one name are not one series"
        for name in clients loans_total signals_total signals_postponed_total; do
            grep -q "^tutti_$name " "$folder/metrics" || fail "no $name"
        done
        info_has '^aborts:.*explicit_restart=' || fail "no aborts by cause"
        stop
        rm "$folder/port"
        start --metrics-port 0 --log "$folder/calls"
        expect OK CALL put 1
        metrics=$(sed -n 's|^metrics on http://127.0.0.1:\([0-9]*\)/metrics$|\1|p' "$folder/log")
        exec 3<>"/dev/tcp/127.0.0.1/$metrics"
        printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
        cat <&3 >"$folder/metrics"
        grep -q '^tutti_log_pending_bytes [0-9]' "$folder/metrics" || fail "nothing of the log"
        grep -q '^tutti_log_trouble 0' "$folder/metrics" || fail "nothing of the log's trouble"
        stop
        ;;
    pipe)
        # Who reads what it says may leave; what was accepted is answered all the same.
        mkfifo "$folder/pipe"
        "$tutti" serve "$object" --port 0 --port-file "$folder/port" --workers 1 >"$folder/pipe" &
        server=$!
        head -n 1 "$folder/pipe" >"$folder/log"
        until [[ -e $folder/port ]]; do sleep 0.02; done
        port=$(<"$folder/port")
        stop_during_a_call
        ;;
    loading)
        # An end may come while procedures are being loaded, which takes as long as they like.
        mkfifo "$folder/await"
        "$tutti" serve "$object" --port 0 --port-file "$folder/port" --set await="$folder/await" >"$folder/log" 2>&1 &
        server=$!
        exec {await}>"$folder/await" # opens when the procedures have opened it
        kill -TERM "$server"
        status=0
        wait "$server" || status=$?
        server=
        [[ $status == 143 ]] || fail "it ended with status $status"
        exec {await}>&-
        ;;
    port_file)
        ln -s /dev/full "$folder/port.new"
        status=0
        "$tutti" serve "$object" --port 0 --port-file "$folder/port" >"$folder/log" 2>&1 || status=$?
        [[ $status == 2 ]] || fail "it ended with status $status"
        grep -q -e '--port-file: .* cannot be written' "$folder/log" || fail "it says something else"
        ;;
    descriptors)
        # More clients than descriptors: those who are in are served, the others are told.
        descriptors=24
        start --workers 1
        (
            exec {first}<>"/dev/tcp/127.0.0.1/$port"
            # shellcheck disable=SC2034  # they stay open
            for _ in {1..20}; do exec {others}<>"/dev/tcp/127.0.0.1/$port"; done
            until [[ -e /proc/$server/fd/$((descriptors - 1)) ]]; do sleep 0.01; done # the last that it can open
            ask "$first" PING
            [[ $answer == +PONG* ]]
            read -r answer <&"$others"
            [[ $answer == -MAXCLIENTS* ]]
        ) || fail "those who are in are not served"
        expect PONG PING
        expect 1 CALL count
        stop
        ;;
    drain)
        start --workers 1
        stop_during_a_call
        for executor in "" threads; do
            rm -f "$folder/port"
            start --workers 1 ${executor:+--executor "$executor"}
            redis-cli -p "$port" CALL take >"$folder/answer" &
            client=$!
            until info_has '^(running|parked):1'; do sleep 0.01; done
            stop
            wait "$client" || true
            [[ $(<"$folder/answer") == STRANDED* ]] || fail "who waits for ever was answered by '$(<"$folder/answer")'"
        done
        ;;
    timeline)
        start --workers 1
        "$tutti" timeline --port "$port" --seconds 1 --output "$folder/trace" >"$folder/said" &
        recorder=$!
        while kill -0 "$recorder" 2>/dev/null; do
            redis-cli -p "$port" CALL count >/dev/null
        done
        wait "$recorder" || fail "tutti timeline failed: $(<"$folder/said")"
        python3 - "$folder/trace" <<'PYTHON' || fail "the trace is wrong"
import json, sys
events = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
assert slices and all(e["name"] == "count" and e["args"]["then"] == "finished" and e["dur"] >= 0 for e in slices)
assert len({e["args"]["call"] for e in slices}) == len(slices)
PYTHON
        redis-cli -p "$port" TIMELINE SOON | grep -q START || fail "nonsense was taken"
        stop
        ;;
    tpcc_load)
        load=$4
        start --set shrink=100 --set demand=1
        for how in "--rate 500" "--closed 8 --districts 1"; do
            # shellcheck disable=SC2086  # a list of words
            "$load" --port "$port" $how --seconds 0.5 --warm-up 0 --json >"$folder/figures" ||
                fail "the generator failed"
            python3 - "$folder/figures" <<'PYTHON' || fail "its figures are wrong: $(<"$folder/figures")"
import json, sys
profiles = json.load(open(sys.argv[1], encoding="utf-8"))["profiles"]
assert sorted(p["priority"] for p in profiles) == [1, 2, 3, 4, 5]
assert sum(p["sent"] for p in profiles) > 0
for p in profiles:
    assert p["answered"] == p["sent"] and p["refused"] == p["failed"] == 0
    assert sum(count for _, count in p["turnarounds"]) == p["answered"] <= p["executions"]
    lengths = [length for length, _ in p["turnarounds"]]
    assert lengths == sorted(set(lengths)) and (not lengths or lengths[0] > 0)
PYTHON
        done
        if "$load" --port 1 2>/dev/null; then fail "there is no server"; fi
        stop
        grep -q 'consistency after the run' "$folder/log" || fail "consistency was not checked"
        ;;
    tpcc)
        start --set shrink=100 --set warehouses=2
        expect 31 CALL new_order 1 1 1 1 1 5 2 1 5 3 2 5 4 1 5 5 1 5
        expect "" CALL new_order 1 1 1 1 1 5 2 1 5 3 2 5 4 1 5 100000 1 5
        expect "ARGUMENT new_order: a warehouse is from 1 to 2" CALL new_order 3 1 1 1 1 5 2 1 5 3 2 5 4 1 5 5 1 5
        expect "ARGUMENT new_order: the number of lines" CALL new_order 1 1 1
        expect 7 CALL payment 1 1 2 3 7 100
        expect "ARGUMENT payment: no customer" CALL payment 1 1 2 3 NOBODY 100
        expect "ARGUMENT payment: a payment in cents is from 100 to 500000" CALL payment 1 1 2 3 7 9223372036854775807
        expect 1 CALL order_status 1 1 1
        expect 22 CALL delivery 1 5
        redis-cli -p "$port" CALL stock_level 1 1 20 >"$folder/low"
        grep -qE '^[0-9]+$' "$folder/low" || fail "stock_level: $(<"$folder/low")"
        redis-benchmark -p "$port" -n 2000 -P 8 -c 10 -q CALL payment 1 1 2 3 7 100 >"$folder/benchmark"
        redis-benchmark -p "$port" -n 1000 -P 8 -c 10 -q CALL new_order 1 1 1 1 1 5 2 1 5 3 2 5 4 1 5 5 1 5 \
            >>"$folder/benchmark"
        redis-benchmark -p "$port" -n 200 -c 10 -q CALL delivery 1 5 >>"$folder/benchmark"
        stop
        grep -q 'consistency after the run' "$folder/log" || fail "consistency was not checked"
        ;;
    *) fail "no case $case" ;;
esac
