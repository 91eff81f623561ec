"""The programs of the build: what they offer, in their own words, and one run of one of them."""

import os
import re
import resource
import subprocess
import time
import typing


class Failure(Exception):
    """What makes the whole measurement worthless: a program is missing, fails, or has a wrong result."""


def machine_seconds():
    """Processor time that anybody has used since the machine started; see proc(5)."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Size(typing.NamedTuple):
    usual: int
    quick: int

    def arguments(self, options):
        """The argument that sets how much a program does. A third of the usual is what fits into a coffee break."""
        size = self.quick if options.quick else self.usual if options.full else max(self.usual // 3, self.quick)
        return ["--size", size]


class Program:
    def __init__(self, folder, name, console=None):
        """`console`: of the machine that is to run it, if it is not this one."""
        self.name = name
        self.path = folder / name
        self.console = console
        if not os.access(self.path, os.X_OK):
            raise Failure(f"there is no program {self.path}")

    def start(self, arguments, limit, under=None):
        """`under`: what chooses for the engine, as variables of the environment."""
        environment = {k: v for k, v in os.environ.items() if k != "TUTTI_POLICY"} | (under or {})
        return subprocess.run(
            [self.path, *map(str, arguments)],
            env=environment,
            timeout=limit,
            capture_output=True,
            text=True,
            check=False,
        )

    def output_of(self, *arguments):
        ended = self.start(arguments, limit=60)
        return ended.stdout + ended.stderr

    def listed(self):
        """The programs within the program, and their sizes."""
        rows = [line.split() for line in self.output_of("list").splitlines()[1:]]
        return {row[0]: Size(int(row[1]), int(row[2])) for row in rows if row}

    def choices(self, option, *arguments):
        """What the option takes, which is what the refusal of anything else lists."""
        text = self.output_of(*arguments, option, "?")
        found = re.search(r"give one of (.*), not '\?'", text)
        if not found:
            raise Failure(f"{self.name} does not say what {option} takes, but: {text.strip()}")
        return found[1].split(", ")

    def run(self, arguments, limit, under=None):
        """Standard output, and the percentage of the machine's processor time that others used. No output if the limit
        (in seconds) was passed and the program stopped."""
        if self.console is not None:
            return self.console.run([self.path.resolve(), *arguments], limit, under or {}), 0
        begin, machine, own = time.monotonic(), machine_seconds(), own_seconds()
        try:
            ended = self.start(arguments, limit, under)
        except subprocess.TimeoutExpired:
            ended = None
        others = (machine_seconds() - machine) - (own_seconds() - own)
        disturbed = max(0.0, 100 * others / (time.monotonic() - begin) / os.cpu_count())
        if ended is None:
            return None, disturbed
        if ended.returncode != 0:
            by = f" under {' '.join(under.values())}" if under else ""
            raise Failure(
                f"{self.name} {' '.join(map(str, arguments))}{by} ended with status {ended.returncode}: "
                f"{ended.stderr.strip()}"
            )
        return ended.stdout, disturbed


def chosen(wanted, offered, what):
    """Those of `offered` that are wanted (a list, or None for all of them)."""
    for name in wanted or []:
        if name not in offered:
            raise Failure(f"there is no {what} '{name}'; there are: {', '.join(offered)}")
    return [name for name in offered if wanted is None or name in wanted]


def stopped(limit, disturbed):
    return {"stopped": limit, "disturbed_percent": disturbed}, f"stopped after {limit:g} s"
