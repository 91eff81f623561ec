"""Processes: a server in each configuration, the generators that drive it, and who has which processor."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

from lost_time import LostTime


class Processors:
    """Each worker has a processor to itself; what is left is for I/O threads and generators.

    With one there is no choice.
    """

    def __init__(self):
        mine = sorted(os.sched_getaffinity(0))
        spare = 2 if len(mine) >= 4 else 1
        first = len(mine) - spare
        self.workers = mine[:first] or mine
        self.io_threads = mine[first : first + 1]
        self.generators = mine[-1:]

    def share_out(self, process):
        """Moves the threads of a server to where they belong."""
        workers = 0
        for task in pathlib.Path(f"/proc/{process}/task").iterdir():
            where = self.io_threads
            if (task / "comm").read_text(encoding="utf-8").strip() == "tutti-worker":
                where = [self.workers[workers % len(self.workers)]]
                workers += 1
            os.sched_setaffinity(int(task.name), where)


class Server:
    """`tutti serve` with the TPC-C procedures, on a port that the system chooses."""

    def __init__(self, programs, name, options, settings, workers=0):
        """`workers`: 0: as many as there are processors for them."""
        self.name = name
        self.programs = programs
        self.processors = Processors()
        self.folder = tempfile.TemporaryDirectory(prefix="tutti-serving-")
        self.port_file = pathlib.Path(self.folder.name) / "port"
        self.log = pathlib.Path(self.folder.name) / "log"
        command = [str(programs / "tutti"), "serve", str(programs / "tpcc-procedures.so"), "--port", "0"]
        command += ["--port-file", str(self.port_file), "--workers", str(workers or len(self.processors.workers)), *options]
        for setting in settings:
            command += ["--set", setting]
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        while not self.port_file.exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"the server '{name}' did not start: {self.log.read_text(encoding='utf-8')}")
            time.sleep(0.02)
        self.port = self.port_file.read_text(encoding="utf-8").strip()
        self.processors.share_out(self.process.pid)

    def drive(self, generators, rate=0, closed=0, **options):
        """Runs this number of generators at once, which share the rate, or the calls in progress. `realtime`: before
        other programs, because theirs are the clocks. Returns what each generator measured, the processor time that
        other programs had meanwhile, and for each call the preemptions and the signals to workers."""
        realtime = options.pop("realtime", False)
        lost = LostTime(self.process.pid)
        before = self._counts()
        load = ["--closed", closed // generators] if closed else ["--rate", rate / generators]
        seed = options.pop("seed", 7)
        running = []
        for number in range(generators):
            command = [str(self.programs / "tutti-tpcc-load"), "--port", self.port, "--json", *map(str, load)]
            command += ["--seed", str(seed * 1000 + number)]
            for name, value in options.items():
                command += [f"--{name.replace('_', '-')}", str(value)]
            running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            os.sched_setaffinity(running[-1].pid, self.processors.generators)
            if realtime:
                os.sched_setscheduler(running[-1].pid, os.SCHED_RR, os.sched_param(1))
        results = []
        for process in running:
            output, errors = process.communicate()
            if process.returncode != 0:
                lives = self.process.poll() is None
                ended = "" if lives else f"\nit has ended:\n{self.log.read_text(encoding='utf-8')}"
                raise RuntimeError(f"server '{self.name}': {errors.strip()}{ended}")
            results.append(json.loads(output))
        calls, *others = (now - then for now, then in zip(self._counts(), before))
        shares = dict(zip(("interruptions", "signals"), (n / calls if calls else 0 for n in others)))
        return results, {**lost.so_far(), **shares}

    def _counts(self):
        """Since its start: calls, interruptions, signals."""
        with socket.create_connection(("127.0.0.1", int(self.port))) as asked, asked.makefile("rb") as answer:
            asked.sendall(b"INFO\r\n")
            text = answer.read(int(answer.readline()[1:])).decode()
        info = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        # for each procedure and priority: calls=…,sum_us=…
        calls = sum(int(v.split(",")[0][len("calls=") :]) for k, v in info.items() if k.startswith("turnaround_"))
        return calls, int(info["preemptions"]), int(info["ticks_by_signal"]) + int(info["ticks_by_kernel"])

    def end(self):
        """Ends it in good order. It fails if TPC-C's conditions do not hold."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait()
        text = self.log.read_text(encoding="utf-8")
        self.folder.cleanup()
        if status != 0:
            raise RuntimeError(f"server '{self.name}' ended with status {status}:\n{text}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()
