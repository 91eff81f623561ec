#include "exposition/process.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <sstream>

#include "exposition/families.hpp"

namespace tutti::exposition {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr MetricType counter = MetricType::Counter;
constexpr MetricType gauge = MetricType::Gauge;

/// Figures of the process from /proc/self/stat (proc(5)). `read` returns false if the file cannot be read.
struct of_proc {
    double ticks = 0, threads = 0, begun_ticks = 0, virtual_bytes = 0, resident_pages = 0;

    bool read() {
        std::ifstream file{"/proc/self/stat"};
        std::string line;
        if (!std::getline(file, line)) return false;
        // The program's name is in parentheses and may contain any characters, so the rest begins after the last
        // parenthesis.
        std::istringstream rest{line.substr(line.rfind(')') + 1)};
        std::string skipped;
        for (int field = 3; field <= 13; ++field) rest >> skipped;
        double user = 0, system = 0;
        rest >> user >> system;
        ticks = user + system;
        for (int field = 16; field <= 19; ++field) rest >> skipped;
        rest >> threads >> skipped >> begun_ticks >> virtual_bytes >> resident_pages;
        return static_cast<bool>(rest);
    }
};

/// Returns the time at which the machine was started, in seconds since 1970, or 0 if the time is unknown.
double boot_time() {
    std::ifstream file{"/proc/stat"};
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("btime ")) return std::stod(line.substr(6));
    }
    return 0;
}

/// Returns the number of open file descriptors, or -1 if the number is unknown.
double open_files() {
    ::DIR* const folder = ::opendir("/proc/self/fd");
    if (folder == nullptr) return -1;
    double n = 0;
    while (const ::dirent* const one = ::readdir(folder)) n += one->d_name[0] != '.' ? 1 : 0;
    ::closedir(folder);
    return n - 1;  // the folder's own descriptor does not count
}

}  // namespace

void add_process(std::vector<MetricFamily>& to, const std::string& version, const std::string& part) {
    if (of_proc p; p.read()) {
        const auto a_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
        to.push_back(single("process_cpu_seconds_total", "Processor time of the process, user and system", counter,
                            p.ticks / a_second));
        if (const double booted = boot_time(); booted > 0) {
            to.push_back(single("process_start_time_seconds", "Start time of the process, in seconds since 1970", gauge,
                                booted + p.begun_ticks / a_second));
        }
        to.push_back(single("process_resident_memory_bytes", "Resident memory of the process", gauge,
                            p.resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE))));
        to.push_back(single("process_virtual_memory_bytes", "Address space of the process", gauge, p.virtual_bytes));
        to.push_back(single("process_threads", "Threads of the process", gauge, p.threads));
    }
    if (const double open = open_files(); open >= 0)
        to.push_back(single("process_open_fds", "Open file descriptors", gauge, open));
    if (::rlimit most{}; ::getrlimit(RLIMIT_NOFILE, &most) == 0) {
        to.push_back(single("process_max_fds", "Maximum number of open file descriptors", gauge,
                            static_cast<double>(most.rlim_cur)));
    }
    MetricFamily build = family("tutti_build_info", "1, with the version and build as labels", gauge);
    build.metric.push_back(metric({{"version", version}, {"compiler", __VERSION__}, {"part", part}}, 1, gauge));
    to.push_back(std::move(build));
}

}  // namespace tutti::exposition
