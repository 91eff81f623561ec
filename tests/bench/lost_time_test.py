"""lost_time_test.py <folder of lost_time.py>: shares of a /proc that is made up, so that they are known."""

import pathlib
import sys
import tempfile

sys.path.append(sys.argv[1])

from lost_time import LostTime, mean  # pylint: disable=import-error,wrong-import-position

PROCESS = 7


def make(proc, machine, tasks):
    """`machine`: the columns of the first line of its stat; `tasks`: a name and the time that it has waited, each."""
    (proc / "stat").write_text(f"cpu  {' '.join(map(str, machine))}\ncpu0 9 9 9 9 9 9 9 9 9 9\n", encoding="utf-8")
    for number, (name, waited) in enumerate(tasks):
        task = proc / str(PROCESS) / "task" / str(100 + number)
        task.mkdir(parents=True, exist_ok=True)
        (task / "comm").write_text(name + "\n", encoding="utf-8")
        (task / "schedstat").write_text(f"5000 {waited} 12\n", encoding="utf-8")


def main():
    with tempfile.TemporaryDirectory() as folder:
        proc = pathlib.Path(folder)
        now = [1_000]
        # user nice system idle iowait irq softirq steal guest guest_nice
        make(proc, [10, 0, 5, 50, 1, 0, 0, 4, 10, 0], [("tutti-worker", 100), ("tutti-worker", 200), ("tutti-io_thread", 50)])
        lost = LostTime(PROCESS, proc, lambda: now[0])
        assert lost.so_far() == {"stolen": 0, "workers": 0, "readers": 0}, lost.so_far()
        now[0] += 1_000
        # 200 more ticks, 30 of them stolen. The workers waited for 500 of twice 1,000 ns, and the reader for half of
        # its time.
        make(proc, [60, 0, 15, 150, 11, 0, 0, 34, 60, 0], [("tutti-worker", 400), ("tutti-worker", 400), ("tutti-io_thread", 550)])
        assert lost.so_far() == {"stolen": 0.15, "workers": 0.25, "readers": 0.5}, lost.so_far()
        other = {"stolen": 0.05, "workers": 0.75, "readers": 0}
        assert mean([lost.so_far(), other]) == {"stolen": 0.1, "workers": 0.5, "readers": 0.25}
    here = LostTime("self") # the real /proc has these files
    assert 0 <= here.so_far()["stolen"] <= 1
    print("as they were made")


if __name__ == "__main__":
    main()
