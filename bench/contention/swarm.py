"""Swarm in each mode of its snapshots, under each policy: the cases, and a run of one."""

import itertools
import json
import typing

from programs import Program, chosen, stopped

# The paper's two managers: only the second one uses deadlines.
POLICIES = ["suicide", "deadline"]


class Case(typing.NamedTuple):
    mode: str
    policy: str
    threads: int


def cases(options, context):
    swarm = Program(options.bin, "tutti-swarm")
    modes = [mode for mode in swarm.choices("--mode") if mode != "all"]
    context["modes"] = chosen(options.modes, modes, "mode")
    context["policies"] = chosen(options.policies or POLICIES, swarm.choices("--policy"), "policy")
    context["threads"] = options.threads or [1, 2, 4]
    context["seconds"] = options.seconds or (1 if options.quick else 5)
    return [Case(*c) for c in itertools.product(context["modes"], context["policies"], context["threads"])]


def runner(options, context):
    swarm = Program(options.bin, "tutti-swarm", options.console)

    def run(case):
        arguments = ["--mode", case.mode, "--policy", case.policy, "--threads", case.threads]
        # The program writes the document into its table on standard output.
        arguments += ["--seconds", context["seconds"], "--json", "/proc/self/fd/1"]
        output, disturbed = swarm.run(arguments, options.limit)
        if output is None:
            return stopped(options.limit, disturbed)
        document, _ = json.JSONDecoder().raw_decode(output, output.index("{"))
        for key in ("algorithm", "objects", "deadline_ms", "qos"):
            context[key] = document[key]
        (result,) = document["runs"]
        kept = {key: result[key] for key in ("success", "fps", "retry_rate", "p99_ms", "steps", "seconds", "snapshots")}
        description = f"{100 * kept['success']:.1f} % kept, {kept['fps']:.1f} fps"
        description += f", {100 * kept['retry_rate']:.1f} % retried"
        return {**kept, "disturbed_percent": disturbed}, description

    return run
