"""How long the blocks of the programs after STAMP take in each mode without other load: the cases, and a run of one."""

import itertools
import json
import typing

from programs import Failure, Program, chosen, stopped

# Each of STAMP's programs once. Bayes mostly computes; the paper leaves it out, too.
PROGRAMS = ["genome", "intruder", "kmeans-high", "labyrinth", "ssca2", "vacation-high", "yada"]
FEW = 100  # fewer samples are not enough for a 99th percentile


class Case(typing.NamedTuple):
    program: str
    mode: str


def cases(options, context):
    stamp = Program(options.bin, "tutti-stamp")
    context["modes_of_lengths"] = stamp.choices("--mode", "intruder")
    context["programs"] = chosen(options.programs or PROGRAMS, stamp.listed(), "program")
    return [Case(*c) for c in itertools.product(context["programs"], context["modes_of_lengths"])]


def runner(options, context):
    stamp = Program(options.bin, "tutti-stamp", options.console)
    sizes = stamp.listed()

    def run(case):
        # One thread, so that there are no conflicts; all modes have the same input.
        arguments = [case.program, "--threads", 1, "--mode", case.mode, "--lengths", "--json"]
        output, disturbed = stamp.run([*arguments, *sizes[case.program].arguments(options)], options.limit)
        if output is None:
            return stopped(options.limit, disturbed)
        (result,) = json.loads(output)
        if result["verified"] is not True:
            raise Failure(f"{case.program} in mode {case.mode} has a wrong result")
        lengths = {length.pop("site"): length for length in result["lengths"] if length["samples"] >= FEW}
        return {"lengths": lengths, "disturbed_percent": disturbed}, f"{len(lengths)} kinds of blocks"

    return run
