# shellcheck shell=bash disable=SC2154,SC2034  # serve.sh has the variables and the steps
# TPC-C on the server. Each function is a case, and gets the arguments of serve.sh.

case_tpcc_load() {
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
}

case_tpcc() {
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
}
