"""Processor time that somebody else had: what explains turnarounds that preemption cannot."""

import pathlib
import time

STOLEN = 7  # column of the first line of /proc/stat, proc(5)
GUESTS = 8  # the columns from this one on are already contained in others
THREADS = {"workers": "tutti-worker", "readers": "tutti-io_thread"}  # the server's thread names


class LostTime:
    """From its making to each `so_far`, of a process and of the machine. `proc`, `clock`: for tests."""

    def __init__(self, process, proc=pathlib.Path("/proc"), clock=time.monotonic_ns):
        self.process = process
        self.proc = proc
        self.clock = clock
        self.began = clock()
        self.of_machine = self._of_machine()
        self.of_threads = {kind: self._of(name) for kind, name in THREADS.items()}

    def so_far(self):
        """Shares: `stolen` of the time of all processors by the host of this virtual machine, and for each kind of
        thread that it was ready to run and another thread had its processor, of the time of all of that kind."""
        stolen, whole = (now - then for now, then in zip(self._of_machine(), self.of_machine))
        shares = {"stolen": stolen / whole if whole else 0}
        for kind, name in THREADS.items():
            now = self._of(name)
            waited = sum(waits - self.of_threads[kind].get(task, 0) for task, waits in now.items())
            elapsed = (self.clock() - self.began) * len(now)
            shares[kind] = waited / elapsed if elapsed else 0
        return shares

    def _of_machine(self):
        columns = [int(word) for word in (self.proc / "stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]]
        return columns[STOLEN], sum(columns[:GUESTS])

    def _of(self, name):
        """Nanoseconds of each thread of that name that it has waited for a processor."""
        waits = {}
        for task in (self.proc / str(self.process) / "task").iterdir():
            if (task / "comm").read_text(encoding="utf-8").strip() == name:
                waits[task.name] = int((task / "schedstat").read_text(encoding="utf-8").split()[1])
        return waits


def mean(shares):
    """Of what several rounds of the same length have lost."""
    return {key: sum(s[key] for s in shares) / len(shares) for key in shares[0]}
