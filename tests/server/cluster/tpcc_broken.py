"""Tests of the test: procedures that leave a step out of what they do on other nodes, and the conditions that say so.

tpcc_broken.py TUTTI PROCEDURES TERMINALS
"""

import sys

from three_servers import Violated, demand
from tpcc import Cluster, verdicts

BROKEN = {"remote-stock": {13}, "remote-payer": {10}, "lost-line": {4, 6, 13}}


def main():
    for fault, conditions in BROKEN.items():
        with Cluster(*sys.argv[1:4], "threads", (f"fault={fault}",)) as cluster:
            status, text = cluster.ask(1.0)
            violated = {condition for condition, (holds, _) in verdicts(text).items() if not holds}
            demand(status == 1 and violated == conditions, f"{fault}: status {status}, {violated} violated: {text}")
            cluster.end(cluster.servers)


if __name__ == "__main__":
    try:
        main()
    except Violated as e:
        sys.exit(f"tpcc_broken.py: {e}")
