#!/bin/sh
# busy.sh <test_kernel_device> <ticking or asleep>: the module cannot be unloaded while a program uses it, and can once that was killed.
: >/tmp/busy
"$1" "--$2" >/tmp/busy &
program=$!
while ! grep -q "$2" /tmp/busy; do
    if ! kill -0 $program; then
        exit 1
    fi
done
if rmmod tutti 2>/dev/null; then
    echo "the module was unloaded under a program that uses it"
    exit 1
fi
kill -9 $program
wait $program 2>/dev/null
rm /tmp/busy
# Its threads may still hold the module for an instant.
while ! rmmod tutti 2>/dev/null; do :; done
insmod /tutti.ko
