"""The programs after STAMP under each policy: the cases, and a run of one."""

import itertools
import json
import typing

from programs import Failure, Program, chosen, stopped

# The STAMP programs with enough conflicts for a policy to matter, and that end within seconds.
PROGRAMS = ["intruder", "kmeans-high", "vacation-low", "vacation-high", "genome", "yada"]

# No transaction of these programs has a priority or a deadline.
POINTLESS = ["priority", "deadline"]


class Case(typing.NamedTuple):
    program: str
    policy: str
    threads: int


def cases(options, context):
    stamp = Program(options.bin, "tutti-stamp")
    # This program lists the engine's policies in the order of tutti::available_policies, the default first.
    policies = Program(options.bin, "tutti-swarm").choices("--policy")
    context["default"] = policies[0]
    context["programs"] = chosen(options.programs or PROGRAMS, stamp.listed(), "program")
    context["policies"] = chosen(options.policies, policies, "policy")
    if options.policies is None:
        context["policies"] = [p for p in context["policies"] if p not in POINTLESS]
    context["threads"] = options.threads or ([1, 8] if options.quick else [1, 2, 4, 8, 16])
    context["quick"] = options.quick
    return [Case(*c) for c in itertools.product(context["programs"], context["policies"], context["threads"])]


def runner(options, context):
    stamp = Program(options.bin, "tutti-stamp", options.console)
    sizes = stamp.listed()

    def run(case):
        arguments = [case.program, "--threads", case.threads, "--json", *sizes[case.program].arguments(options)]
        output, disturbed = stamp.run(arguments, options.limit, {"TUTTI_POLICY": case.policy})
        if output is None:
            return stopped(options.limit, disturbed)
        (result,) = json.loads(output)
        if result["verified"] is not True:
            raise Failure(f"{case.program} under {case.policy} with {case.threads} threads has a wrong result")
        context["algorithm"] = result["algorithm"]
        context.setdefault("sizes", {})[case.program] = result["size"]
        kept = {key: result[key] for key in ("seconds", "transactions", "aborts", "aborts_per_commit")}
        description = f"{kept['seconds']:.2f} s, {kept['aborts_per_commit']:.4f} aborts a commit"
        return {**kept, "disturbed_percent": disturbed}, description

    return run
