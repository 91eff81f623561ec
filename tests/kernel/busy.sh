#!/bin/sh
# busy.sh <test_kernel_device> <ticking or asleep>: checks that the module cannot be unloaded while a program uses it.
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
# The killed program's threads may still hold the module for a moment.
while ! rmmod tutti 2>/dev/null; do :; done
insmod /tutti.ko
