# shellcheck shell=bash disable=SC2154,SC2034  # serve.sh has the variables and the steps
# Authentication and permissions. Each function is a case, and gets the arguments of serve.sh.

case_password() {
    printf 'open sesame\r\n' >"$folder/password"
    start --password-file "$folder/password"
    expect NOAUTH CALL noop
    expect WRONGPASS AUTH 'open, says me'
    [[ $(REDISCLI_AUTH='open sesame' redis-cli -p "$port" CALL noop) == OK ]] || fail "the password does not open"
    REDISCLI_AUTH='open sesame' info_has '^logins_failed:1.$' || fail "the wrong password is not counted"
    stop
}

case_users() {
    hashed() { perl -e 'print crypt($ARGV[0], "\$y\$j75\$saltsalt")' "$1"; }
    cat >"$folder/users.toml" <<TOML
metrics-port = 0
[users.clerk]
password = "$(hashed secret)"
calls = ["balance", "c*"]
priority = 4
[users.chief]
password = "$(hashed more)"
admin = true
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
except (redis.exceptions.AuthenticationError, redis.exceptions.ResponseError) as refused:
    # redis-py 4.3.4 raises ResponseError for every WRONGPASS; later versions raise AuthenticationError without the code.
    assert "invalid username-password pair or user is disabled." in str(refused), refused
else:
    raise AssertionError("any password will do")
PYTHON
    fi
    printf more >"$folder/chief"
    printf secret >"$folder/clerk"
    trace() {
        "$tutti" timeline --port "$port" --duration 0.1 --output "$folder/trace" --user "$1" \
            --password-file "$folder/$1" 2>&1
    }
    said=$(trace chief) || fail "the operator may not record: $said"
    said=$(trace clerk) && fail "the clerk may record: $said"
    [[ $said == *NOPERM* ]] || fail "the clerk is not told why: $said"
    # The same with environment variables, which process lists do not show to other users.
    TUTTI_USER=chief TUTTI_PASSWORD=more "$tutti" timeline --port "$port" --duration 0.1 --output "$folder/trace" \
        >"$folder/said" 2>&1 || fail "the operator's environment is not read: $(<"$folder/said")"
    status=0
    "$tutti" top --port "$port" --count 1 --user clerk >"$folder/said" 2>&1 || status=$?
    [[ $status == 2 ]] || fail "a user without a password is no mistake"
    grep -q 'user clerk needs a password: give --password-file FILE, or TUTTI_PASSWORD' "$folder/said" ||
        fail "$(<"$folder/said")"
    # A client that is not logged in does not delay the end.
    exec {stranger}<>"/dev/tcp/127.0.0.1/$port"
    printf 'AUTH clerk secret\r\n' >&"$stranger"
    stop
}

case_renewed() {
    # A certificate that is renewed while clients are connected, and a key that does not belong to it.
    new_certificate() {
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
            -addext "subjectAltName=IP:127.0.0.1" -keyout "$folder/$1.key" -out "$folder/$1.pem" 2>"$folder/openssl"
        cp "$folder/$1.key" "$folder/key"
        cp "$folder/$1.pem" "$folder/certificate"
    }
    trusts() { redis-cli --tls --cacert "$folder/$1.pem" -h 127.0.0.1 -p "$port" PING 2>&1 | grep -q PONG; }
    new_certificate first
    start --tls-certificate "$folder/certificate" --tls-key "$folder/key"
    trusts first || fail "no answer under the first certificate"
    mkfifo "$folder/words"
    redis-cli --tls --cacert "$folder/first.pem" -h 127.0.0.1 -p "$port" <"$folder/words" >"$folder/answers" &
    exec {words}>"$folder/words"
    printf 'CALL count\n' >&"$words"
    until grep -q 1 "$folder/answers"; do sleep 0.02; done
    new_certificate second
    kill -HUP "$server"
    until grep -q "clients that connect from now on" "$folder/log"; do sleep 0.02; done
    trusts second || fail "the new certificate is not shown"
    ! trusts first || fail "the old one is, too"
    printf 'CALL count\n' >&"$words"
    until grep -q 2 "$folder/answers"; do sleep 0.02; done # on the existing connection
    exec {words}>&-
    cp "$folder/first.key" "$folder/key"
    kill -HUP "$server"
    until grep -q "key values mismatch; clients still get the previous certificate" "$folder/log"; do sleep 0.02; done
    trusts second || fail "the certificate from before is gone"
    stop
}

case_tls() {
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
    # Tutti's own tools: with valid credentials, and with an error message without them.
    look() { "$tutti" top --port "$port" --interval 0.05 --count 1 "$@" >"$folder/top" 2>&1; }
    trusts=(--tls-authority "$folder/server.pem")
    shows=(--tls-certificate "$folder/client.pem" --tls-key "$folder/client.key")
    look "${trusts[@]}" "${shows[@]}" || fail "tutti top is not let in: $(<"$folder/top")"
    grep -qE '^count +3 ' "$folder/top" || fail "tutti top: $(<"$folder/top")"
    "$tutti" timeline --port "$port" --duration 0.1 --output "$folder/trace" "${trusts[@]}" "${shows[@]}" \
        >"$folder/said" 2>&1 || fail "tutti timeline is not let in: $(<"$folder/said")"
    grep -q traceEvents "$folder/trace" || fail "no trace under TLS"
    ! look "${trusts[@]}" || fail "it was let in without a certificate"
    grep -q 'lost the connection to the server: .*certificate' "$folder/top" || fail "tutti top: $(<"$folder/top")"
    ! look --tls "${shows[@]}" || fail "it trusts a certificate that nobody has signed"
    grep -q 'the certificate of 127.0.0.1 is not trusted: self' "$folder/top" || fail "tutti top: $(<"$folder/top")"
    stop
    # The files are read before the connection, because a connected server waits for the handshake.
    ! look --tls-authority "$folder/nowhere.pem" || fail "it takes an authority that there is not"
    grep -q 'TLS: authority .*nowhere.pem (PEM): No such file' "$folder/top" || fail "tutti top: $(<"$folder/top")"
    # A server with a certificate for another address is not trusted either.
    rm "$folder/port"
    start --tls-certificate "$folder/elsewhere.pem" --tls-key "$folder/elsewhere.key"
    ! look --tls-authority "$folder/elsewhere.pem" || fail "any server will do"
    grep -q 'is not trusted: IP address mismatch' "$folder/top" || fail "tutti top: $(<"$folder/top")"
    ! look || fail "it is answered in the clear"
    grep -q 'lost the connection to the server: .*does the server expect TLS' "$folder/top" || fail "tutti top: $(<"$folder/top")"
    stop
    # A client that does not finish its handshake is cut off, even if no password is set.
    rm "$folder/port"
    start --tls-certificate "$folder/elsewhere.pem" --tls-key "$folder/elsewhere.key" --login-timeout 100
    exec {silent}<>"/dev/tcp/127.0.0.1/$port"
    cat <&"$silent" >"$folder/silence" || fail "it was not just closed"
    stop
}
