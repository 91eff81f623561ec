#!/bin/sh
# serve.sh <build> well|ill|killed|less|more <program> [argument]...: runs the program under that scheduler. well: it
# succeeds, and the scheduler stays to the end and leaves on request. ill: one of its tests fails. killed, less, more:
# it succeeds repeatedly, although the scheduler is killed meanwhile, or has to leave because the second processor goes
# or comes.
build=$1 expected=$2
shift 2
trap 'cat /tmp/messages >&2' EXIT
"/$build/tutti-scheduler" --group other "/$build/scheduler.bpf.o" 2>/tmp/messages &
scheduler=$!
until [ -e /run/tutti/scheduler ]; do
    kill -0 $scheduler || exit 1
    usleep 20000
done
second=/sys/devices/system/cpu/cpu1/online
case $expected in
    killed | less | more)
        rm -f /tmp/gone
        # Repeated, so that one run is in progress when the scheduler goes, however fast this machine is.
        while "$@" && [ ! -e /tmp/gone ]; do :; done &
        program=$!
        sleep 1
        kill -0 $program && kill -0 $scheduler || exit 1
        case $expected in
            killed) kill -9 $scheduler ;;
            less) echo 0 >$second ;;
            more) echo 1 >$second ;;
        esac
        # Runs it once more with the kernel's own scheduler, which takes over after it has removed the killed one.
        checks=0
        until [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; do
            usleep 20000
            checks=$((checks + 1))
            [ $checks -lt 3000 ] || exit 1
        done
        wait $scheduler
        status=$?
        : >/tmp/gone
        wait $program || exit 1
        [ "$expected" = killed ] && rm /run/tutti/scheduler && exit
        # A scheduler that was forced to leave prints the reason, and leaves nothing behind.
        [ $status = 1 ] && [ ! -e /run/tutti/scheduler ] && grep -q 'ended the scheduler: .*cpu 1 going' /tmp/messages
        exit
        ;;
esac
"$@" >/tmp/output
status=$?
cat /tmp/output
if [ "$expected" = ill ]; then
    kill $scheduler 2>/dev/null
    wait $scheduler
    rm -f /run/tutti/scheduler
    # A test has to fail: a program that only crashes has noticed nothing.
    grep -q ': Failure' /tmp/output && echo "guest: noticed: $build"
    exit
fi
[ $status = 0 ] || {
    kill $scheduler
    wait $scheduler
    exit 1
}
kill -TERM $scheduler || exit 1
wait $scheduler || exit 1
[ "$(cat /sys/kernel/sched_ext/state)" = disabled ] && [ ! -e /run/tutti/scheduler ]
