# shellcheck shell=bash disable=SC2154,SC2034  # serve.sh has the variables and the steps
# The operator's tasks, views and messages. Each function is a case, and gets the arguments of serve.sh.

case_inherited() {
    # As systemd does: descriptor 3 listens, and environment variables tell the process so.
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
}

case_environment() {
    # A value that the library would refuse in the first call ends the start, and --check, with the variable's name.
    for wrong in TUTTI_ALGORITHM=none-such TUTTI_POLICY=none-such TUTTI_HARDWARE=none-such; do
        for how in "--check" "--port 0"; do
            # shellcheck disable=SC2086  # several options
            ! env "$wrong" timeout 20 "$tutti" serve "$object" $how >"$folder/log" 2>&1 || fail "$wrong is taken"
            grep -q "^tutti: ${wrong%%=*}: unknown .*'none-such'; valid are " "$folder/log" || fail "it says nothing of use"
        done
    done
    TUTTI_ALGORITHM=serial TUTTI_POLICY=backoff "$tutti" serve "$object" --check >"$folder/log" 2>&1 || fail "refused"
    export TUTTI_ALGORITHM=serial TUTTI_POLICY=backoff TUTTI_HARDWARE=off
    start
    expect OK CALL noop
    stop
}

case_notify() {
    # The notifications to systemd: ready once the server serves, then signs of life, then the end.
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
    # The server's earlier notifications arrive before this one.
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
}

case_crash() {
    # SIGTRAP, SIGABRT and SIGSEGV
    for executor in "" threads; do
        for signal in 5 6 11; do
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
}

case_stuck() {
    for ticks in periodic none on-demand; do
        rm -f "$folder/port"
        start --workers 1 --time-limit 20 --tick-source "$ticks"
        # A loop is interrupted in the middle of its code. So is a call that ignores its cancellation, and a call that
        # mostly runs code of the C library. An answered call may still be about to leave its worker.
        for name in hold ignore watch_clock; do
            [[ $(redis-cli -p "$port" CALL "$name") == TIMEOUT* ]] || fail "it was not answered"
            until info_has "^procedure_$name:.*,TIMEOUT=1"; do sleep 0.02; done
            until info_has "^running:0"; do sleep 0.02; done
        done
        [[ $ticks == on-demand ]] || stop
    done
    # A call that waits in the C library cannot be interrupted, and is reported by name.
    mkfifo "$folder/held"
    [[ $(redis-cli -p "$port" CALL hold_open "$folder/held") == TIMEOUT* ]] || fail "it was not answered"
    until grep -q "^tutti: a call past its time limit of 20 ms cannot be interrupted, and blocks its worker: in procedure 'hold_open'" \
        "$folder/log"; do sleep 0.02; done
    exec {held}>"$folder/held"
    exec {held}>&-
    stop
    [[ $(grep -c "cannot be interrupted" "$folder/log") == 1 ]] || fail "it was logged more than once"
}

case_kept() {
    # A call that blocks its worker is reported once, even without a time limit. A call that waits in retry is not
    # reported.
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
            until [[ $(grep -c "^tutti: a call has blocked its worker for 50 ms: in procedure 'hold_open'" "$folder/log") == "$call" ]]; do
                sleep 0.02
            done
            exec {held}>"$folder/held"
            exec {held}>&-
            wait "$client"
        done
        expect OK CALL put 1
        wait "$taker"
        stop
        [[ $(grep -c "blocked its worker" "$folder/log") == 2 ]] || fail "too much is named"
    done
}

case_objects() {
    # One server for the procedures of two objects, which one transaction may call.
    start "$4"
    expect OK CALL transfer 1 2 30
    expect OK CALL pay 5
    expect 5 CALL paid
    printf 'MULTI\nCALL pay 2\nCALL fail why\nEXEC\n' | redis-cli -p "$port" >"$folder/answers"
    grep -q '^EXCEPTION EXEC: fail: why' "$folder/answers" || fail "$(<"$folder/answers")"
    expect 5 CALL paid
    printf 'MULTI\nCALL pay 2\nCALL transfer 1 2 30\nEXEC\n' | redis-cli -p "$port" >"$folder/answers"
    expect 7 CALL paid
    expect 940 CALL balance 1
    stop
}

case_upgrade() {
    python3 "$4" "$tutti" "$folder" "$object" "$5" "$6" >"$folder/told" 2>&1 || fail "$(<"$folder/told")"
}

case_follow() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=localhost" \
        -addext "subjectAltName=IP:127.0.0.1" -keyout "$folder/key" -out "$folder/certificate" 2>"$folder/openssl"
    printf '[users.%s]\npassword = "%s"\nadmin = %s\n' \
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
    grep -q '^tutti_is_leader 0' "$folder/metrics" || fail "$(<"$folder/metrics")"
    grep -q '^tutti_leader_connected 1' "$folder/metrics" || fail "$(<"$folder/metrics")"
    kill -KILL "$leader"
    "$tutti" promote --port "$port" >"$folder/promoted"
    grep -q 'is now the leader' "$folder/promoted" || fail "$(<"$folder/promoted")"
    expect 970 CALL balance 1
    expect OK CALL transfer 1 2 70
    info_has '^term:2' || fail "no new term"
    ! "$tutti" promote --host 127.0.0.1 --port "$leading" 2>"$folder/promoted" || fail "nobody was promoted"
    stop
}

case_top() {
    start
    redis-benchmark -p "$port" -n 2000 -P 8 -c 5 -q CALL transfer 1 2 0 >"$folder/benchmark"
    expect "EXCEPTION" CALL fail why
    "$tutti" top --port "$port" --interval 0.1 --count 2 >"$folder/top"
    grep -qE '^transfer +5 ' "$folder/top" || fail "$(<"$folder/top")"
    grep -qE '^fail +EXCEPTION +[0-9]+ +1$' "$folder/top" || fail "$(<"$folder/top")"
    grep -qE '^preemptions/s [0-9]+, priority boosts/s [0-9]+, parkings/s [0-9]+' "$folder/top" || fail "$(<"$folder/top")"
    stop
    ! "$tutti" top --port "$port" --count 1 2>"$folder/top" || fail "there is nobody to look at"
    grep -q 'cannot be reached' "$folder/top" || fail "$(<"$folder/top")"
}

case_metrics() {
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
    for name in process_cpu_seconds_total process_start_time_seconds process_open_fds process_max_fds \
        process_threads 'tutti_build_info{version='; do
        grep -qF "$name" "$folder/metrics" || fail "no $name"
    done
    # 2,500 bytes for each of at least twelve procedures make 30 KB.
    local bytes procedures
    bytes=$(wc -c <"$folder/metrics")
    procedures=$(grep -c '^tutti_turnaround_seconds_count' "$folder/metrics")
    ((bytes < 2500 * (procedures < 12 ? 12 : procedures))) || fail "a page of $bytes bytes for $procedures procedures"
    ! grep -q "^tutti_log_" "$folder/metrics" || fail "a log that there is not"
    for zero in 'turnaround_seconds_count{procedure="balance",priority="4"}' 'queued_calls{priority="7"}' \
        'shed_calls_total{priority="7"}' \
        'calls_total{procedure="balance",outcome="TIMEOUT"}' 'aborts_total{block="transfer",cause="killed"}'; do
        grep -qF "tutti_$zero 0" "$folder/metrics" || fail "no zero: $zero"
    done
    grep -q '^tutti_commits_total{block="transfer"} 1' "$folder/metrics" || fail "no commits"
    [[ $(grep '^tutti_commits_total{block="coins"}' "$folder/metrics") == *'"} 2' ]] ||
        fail "blocks of one name are not one series"
    for name in clients priority_inheritances_total ticks_by_signal_total ticks_deferred_total; do
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
    grep -q '^tutti_log_error 0' "$folder/metrics" || fail "tutti_log_error is missing"
    stop
}

case_loading() {
    # The end may come while procedures are being loaded, which may take any time.
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
}

case_port_file() {
    ln -s /dev/full "$folder/port.new"
    status=0
    "$tutti" serve "$object" --port 0 --port-file "$folder/port" >"$folder/log" 2>&1 || status=$?
    [[ $status == 2 ]] || fail "it ended with status $status"
    grep -q -e '--port-file: .* cannot be written' "$folder/log" || fail "it says something else"
}

case_descriptors() {
    # More clients than descriptors: connected clients are served, and the others get an error.
    descriptors=24
    start --workers 1
    (
        exec {first}<>"/dev/tcp/127.0.0.1/$port"
        # they stay open
        for _ in {1..20}; do exec {others}<>"/dev/tcp/127.0.0.1/$port"; done
        # The last descriptor that the server can open.
        until [[ -e /proc/$server/fd/$((descriptors - 1)) ]]; do sleep 0.01; done
        ask "$first" PING
        [[ $answer == +PONG* ]]
        read -r answer <&"$others"
        [[ $answer == -MAXCLIENTS* ]]
    ) || fail "those who are in are not served"
    expect PONG PING
    expect 1 CALL count
    stop
}

case_drain() {
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
        [[ $(<"$folder/answer") == STRANDED* ]] || fail "who waits forever was answered by '$(<"$folder/answer")'"
    done
}

case_timeline() {
    start --workers 1
    "$tutti" timeline --port "$port" --duration 1 --output "$folder/trace" >"$folder/said" &
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
    # Servers whose clocks differ by half an hour, and which begin to record one after another.
    local ahead
    for ahead in 0 1800; do
        python3 "${BASH_SOURCE%/*}/../clocked_server.py" "$ahead" "$folder/began-$ahead" >"$folder/at-$ahead" &
        listener+=" $!"
        until [[ -s $folder/at-$ahead ]]; do sleep 0.02; done
    done
    "$tutti" timeline --port "$(<"$folder/at-0")" --add-server "127.0.0.1:$(<"$folder/at-1800")" --add-server "127.0.0.1:$port" \
        --duration 0.1 --output "$folder/traces" || fail "tutti timeline --add-server failed"
    python3 - "$folder" <<'PYTHON' || fail "the traces are not on one clock"
import json, sys
folder = sys.argv[1]
events = json.load(open(folder + "/traces", encoding="utf-8"))["traceEvents"]
errors = {e["pid"]: e["args"]["clock_error_us"] for e in events if e["name"] == "process_name"}
assert set(errors) == {1, 2, 3}, errors
at = {e["pid"]: e["ts"] for e in events if e["name"] == "begins"}
began = [int(open(f"{folder}/began-{ahead}", encoding="ascii").read()) / 1000 for ahead in (0, 1800)]
assert began[1] - began[0] > 200_000
assert abs((at[2] - at[1]) - (began[1] - began[0])) <= errors[1] + errors[2] + 1, (at, began, errors)
PYTHON
    "$tutti" timeline --port "$port" --add-server nowhere 2>"$folder/said" && fail "nonsense was taken"
    grep -q -- "--add-server nowhere: not a server; give HOST:PORT" "$folder/said" || fail "it was not said: $(<"$folder/said")"
    redis-cli -p "$port" TIMELINE SOON | grep -q START || fail "nonsense was taken"
    stop
}

case_no_standard_descriptors() {
    # The parent has closed all three descriptors. Output must not go to a client that gets one of their numbers.
    (exec "$tutti" serve "$object" --port 0 --port-file "$folder/port" <&- >&- 2>&-) &
    server=$!
    until [[ -e $folder/port ]]; do sleep 0.02; done
    port=$(<"$folder/port")
    for descriptor in 1 2; do # a library takes the first one before main() begins
        [[ $(readlink "/proc/$server/fd/$descriptor") == /dev/null ]] || fail "it has descriptor $descriptor for itself"
    done
    : >"$folder/log"
    expect OK CALL noop
    stop
}

case_full_disk_of_messages() {
    "$tutti" serve "$object" --port 0 --port-file "$folder/port" >/dev/full 2>"$folder/log" &
    server=$!
    until [[ -e $folder/port ]]; do sleep 0.02; done
    port=$(<"$folder/port")
    expect OK CALL noop
    stop
    ! "$tutti" --version >/dev/full 2>"$folder/log" || fail "it says that it has printed its version"
    grep -q "standard output cannot be written: No space left" "$folder/log" || fail "no word of it"
}

case_full_pipe() {
    # The reader of the server's output has stopped reading, and the pipe is full. The thread that serves clients
    # reports a procedure that cannot be ended. The thread that waits for signals refuses SIGHUP.
    mkfifo "$folder/held"
    python3 - "$tutti" "$object" "$folder" <<'PYTHON' >"$folder/log" 2>&1 || fail "it does not end well"
import os, signal, socket, subprocess, sys, time
tutti, bank, folder = sys.argv[1:]


def full_pipe():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"." * 65536)
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    return reader, writer


def start(name, out, err):
    port_file = folder + "/port." + name
    server = subprocess.Popen([tutti, "serve", bank, "--port", "0", "--port-file", port_file, "--workers", "2",
                               "--time-limit", "20", "--stuck-after", "20"], stdout=out, stderr=err)
    os.close(writer)
    while not os.path.exists(port_file):
        if server.poll() is not None:
            sys.exit("it does not start")
        time.sleep(0.02)
    with open(port_file, encoding="ascii") as file:
        return server, int(file.read())


def ask(port, *words):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall((" ".join(words) + "\r\n").encode())
        return client.recv(4096).decode()


for full in ("out", "err", "both"):
    reader, writer = full_pipe()
    server, port = start(full, subprocess.DEVNULL if full == "err" else writer,
                         subprocess.DEVNULL if full == "out" else writer)
    if not ask(port, "CALL", "hold_open", folder + "/held").startswith("-TIMEOUT"):
        sys.exit("a call past its limit is not answered")
    for i in range(100):
        server.send_signal(signal.SIGHUP)
    for i in range(100):
        if ask(port, "CALL", "noop") != "+OK\r\n":
            sys.exit("it serves no more")
    open(folder + "/held", "w").close()  # opens when the procedure has opened it
    server.terminate()
    if server.wait() != 0:
        sys.exit(f"status {server.returncode}")
    os.close(reader)

# A crash also ends the process if its report cannot be written.
reader, writer = full_pipe()
server, port = start("crash", writer, writer)
ask(port, "CALL", "crash", "6", "text")
if server.wait() != -signal.SIGABRT:
    sys.exit(f"status {server.returncode} after a crash")
PYTHON
}

case_shutdown_timeout() {
    # A call that never ends is reported and abandoned. Answered calls are there after the next start.
    mkfifo "$folder/held"
    for executor in "" threads; do
        rm -f "$folder/port"
        start --workers 2 --shutdown-timeout 50 ${executor:+--executor "$executor"} \
            --log "$folder/calls$executor" --fsync no
        expect OK CALL transfer 1 2 30
        redis-cli -p "$port" CALL hold_open "$folder/held" >"$folder/answer" 2>&1 &
        client=$!
        until info_has '^running:1'; do sleep 0.01; done
        kill -TERM "$server"
        status=0
        wait "$server" || status=$?
        server=
        wait "$client" || true
        ((status == 3)) || fail "it ended with status $status"
        grep -Eq "^tutti: procedure 'hold_open', priority 1, called by a client at 127.0.0.1:[0-9]+ [0-9]+ ms ago, has run for [0-9]+ ms$" \
            "$folder/log" || fail "nobody is told what was in the way"
        rm -f "$folder/port"
        start --log "$folder/calls$executor"
        expect 970 CALL balance 1
        stop
    done
    # Only the data of the procedures remain, so the process ends without destroying them.
    rm -f "$folder/port"
    start --shutdown-timeout 50 --log "$folder/calls" --set await_at_end="$folder/held"
    stop
    grep -qx ended "$folder/log" || fail "the shutdown was not complete"
    # Without a limit, the second signal ends the server.
    rm -f "$folder/port"
    start --workers 1 --shutdown-timeout 0
    redis-cli -p "$port" CALL hold_open "$folder/held" >"$folder/answer" 2>&1 &
    client=$!
    until info_has '^running:1'; do sleep 0.01; done
    kill -TERM "$server"
    until grep -q "^ending: no new calls" "$folder/log"; do sleep 0.01; done
    kill -TERM "$server"
    status=0
    wait "$server" || status=$?
    server=
    wait "$client" || true
    ((status == 143)) || fail "it ended with status $status"
}
