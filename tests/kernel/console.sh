#!/bin/sh
# console.sh: runs the lines that come over the serial line, and says how each has ended, until one says `end`.
exec </dev/console
stty -echo
echo "console: ready"
while read -r line; do
    [ "$line" != end ] || exit 0
    sh -c "$line" </dev/null >/tmp/output 2>/tmp/errors
    status=$?
    cat /tmp/output
    [ $status = 0 ] || cat /tmp/errors
    echo "console: ended with $status"
done
