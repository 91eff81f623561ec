#!/bin/sh
# console.sh: runs the lines that come over the serial line, and says how each has ended, until one says `end`.
exec </dev/console
stty -echo
echo "console: ready"
while read -r line; do
    [ "$line" != end ] || exit 0
    # A pipe, which takes what is written by whoever opens it anew as well.
    {
        sh -c "$line" </dev/null 2>/tmp/errors
        echo $? >/tmp/status
    } | cat
    [ "$(cat /tmp/status)" = 0 ] || cat /tmp/errors
    echo "console: ended with $(cat /tmp/status)"
done
