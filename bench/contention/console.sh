#!/bin/sh
# console.sh: runs the lines that arrive over the serial line, and prints the status of each, until a line says `end`.
exec </dev/console
stty -echo
echo "console: ready"
while read -r line; do
    [ "$line" != end ] || exit 0
    # A pipe, which also receives the output of processes that open it again.
    {
        sh -c "$line" </dev/null 2>/tmp/errors
        echo $? >/tmp/status
    } | cat
    [ "$(cat /tmp/status)" = 0 ] || cat /tmp/errors
    echo "console: ended with $(cat /tmp/status)"
done
