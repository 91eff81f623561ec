"""Another machine, as a shell that gets one command a line: a guest of QEMU, for one."""

import os
import shlex
import signal
import subprocess

from programs import Failure

READY = "console: ready"
ENDED = "console: ended with "
# Exit statuses after a timeout: that of `timeout` itself, and that of a program ended by its signal.
STOPPED = (124, 143)


class Console:
    """Of a command that prints READY, and then what each line of its input prints, and ENDED with the status; until a
    line says `end`."""

    def __init__(self, command):
        self.shell = subprocess.Popen(  # pylint: disable=consider-using-with
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.until(READY)

    def until(self, mark):
        """What is printed before a line that begins with the mark, and the rest of that line."""
        lines = []
        for line in self.shell.stdout:
            line = line.rstrip("\r\n")
            if line.startswith(mark):
                return "\n".join(lines), line[len(mark) :]
            lines.append(line)
        raise Failure("the machine that is measured has ended: " + "\n".join(lines[-20:]))

    def run(self, words, limit, under):
        """What it prints; None if it was stopped at the limit, in seconds of that machine."""
        settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in under.items())
        self.shell.stdin.write(f"{settings} timeout {limit:g} {shlex.join(map(str, words))}\n")
        self.shell.stdin.flush()
        output, status = self.until(ENDED)
        if int(status) in STOPPED:
            return None
        if int(status) != 0:
            raise Failure(f"{settings} {shlex.join(map(str, words))} ended with status {status}: {output}")
        return output

    def close(self):
        """The machine ends, whatever it does just now."""
        try:
            self.shell.communicate("end\n", timeout=30)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            os.killpg(self.shell.pid, signal.SIGKILL)
            self.shell.wait()
