#!/bin/sh
# serve.sh <build> well|ill|left <program> [argument]...: runs the program under that scheduler. well: it succeeds, and the
# scheduler stays to the end and leaves when it is told to; left: it succeeds though the scheduler is killed meanwhile;
# ill: it fails.
build=$1 expected=$2
shift 2
"/$build/tutti-scheduler" --group other "/$build/scheduler.bpf.o" &
scheduler=$!
until [ -e /run/tutti/scheduler ]; do
    kill -0 $scheduler || exit 1
    usleep 20000
done
if [ "$expected" = left ]; then
    # Over and over, so that one is under way when the scheduler goes, however fast this machine is.
    while "$@" && [ ! -e /tmp/gone ]; do :; done &
    program=$!
    sleep 1
    kill -0 $program && kill -9 $scheduler || exit 1
    : >/tmp/gone
    wait $program || exit 1
    rm /run/tutti/scheduler
    # The kernel goes back to its own when it buries the one that was killed.
    until [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; do usleep 20000; done
    exit 0
fi
found=well
"$@" || found=ill
if [ "$expected" = ill ]; then
    kill $scheduler 2>/dev/null
    wait $scheduler
    rm -f /run/tutti/scheduler
    [ $found = ill ] && echo "guest: noticed: $build"
    exit
fi
[ $found = well ] || {
    kill $scheduler
    wait $scheduler
    exit 1
}
kill -TERM $scheduler || exit 1
wait $scheduler || exit 1
[ "$(cat /sys/kernel/sched_ext/state)" = disabled ] && [ ! -e /run/tutti/scheduler ]
