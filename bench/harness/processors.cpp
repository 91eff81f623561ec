#include "harness/processors.hpp"

#include <time.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace bench {

double thread_seconds() noexcept {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double machine_seconds() {
    // proc(5): cpu user nice system idle iowait irq softirq steal; user and nice include the fields after that.
    std::ifstream file{"/proc/stat"};
    std::string label;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(file >> label >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) return 0;
    return (user + nice + system + irq + softirq + steal) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace bench
