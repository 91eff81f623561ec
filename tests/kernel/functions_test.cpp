// Counts the kernel functions that a tick enters, from the requesting call to the handler's first instruction, and
// those that a signal enters. ftrace records them for a thread that sends both to itself (as in instructions_test.cpp).
#include <sys/mount.h>
#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "kernel/device.hpp"

namespace kernel_test {
namespace {

/// ftrace for the calling thread alone.
class tracer {
public:
    tracer() {
        if (!std::ifstream{at("trace")}) {
            EXPECT_EQ(::mount("nodev", "/sys/kernel/tracing", "tracefs", 0, nullptr), 0);
        }
        write("tracing_on", "0");
        write("set_ftrace_pid", std::to_string(::syscall(SYS_gettid)));
        write("current_tracer", "function");
    }
    ~tracer() {
        write("current_tracer", "nop");
        write("set_ftrace_pid", "");
        write("tracing_on", "1");
    }
    tracer(const tracer&) = delete;
    tracer& operator=(const tracer&) = delete;

    /// Returns the functions that the kernel enters during `f`, in order.
    template <class F>
    std::vector<std::string> names_of(F&& f) {
        write("trace", "");
        write("tracing_on", "1");
        f();
        write("tracing_on", "0");
        std::vector<std::string> names;
        std::ifstream trace{at("trace")};
        for (std::string line; std::getline(trace, line);) {
            const auto end = line.find(" <-"), colon = line.rfind(": ", end);
            if (line.empty() || line[0] == '#' || end == std::string::npos || colon == std::string::npos) continue;
            std::string name = line.substr(colon + 2, end - colon - 2);
            names.push_back(name.substr(0, name.find(' ')));
        }
        return names;
    }

private:
    static std::string at(const char* file) { return std::string{"/sys/kernel/tracing/"} + file; }
    static void write(const char* file, const std::string& what) {
        std::ofstream f{at(file)};
        f << what << std::flush;
        EXPECT_TRUE(f.good()) << file << " refuses '" << what << "'";
    }
};

void call_getppid(int) { ::syscall(SYS_getppid); }

/// Counts from the function of `call` to the function of getppid, which the handler calls first. The count includes the
/// entry of getppid, which is the same for both. Returns the minimum of many runs, which excludes interrupts; 0 if the
/// functions do not appear.
template <class F>
std::size_t count_from(tracer& t, const char* call, F&& send) {
    std::size_t fewest = 0;
    for (int i = 0; i < 21; ++i) {
        const std::vector<std::string> names = t.names_of(send);
        const auto begin = std::ranges::find(names, call);
        const auto is_getppid = [](const std::string& name) { return name.ends_with("sys_getppid"); };
        const auto end = std::find_if(begin, names.end(), is_getppid);
        if (end == names.end()) continue;
        const auto count = static_cast<std::size_t>(end - begin);
        fewest = fewest == 0 ? count : std::min(fewest, count);
    }
    return fewest;
}

TEST(kernel_functions, are_fewer_for_a_tick_than_for_a_signal) {
    if (std::getenv("TUTTI_TEST_ICOUNT") == nullptr) GTEST_SKIP() << "interrupts would be in it";
    device d;
    tutti_tick_register how = tick_registration();
    how.handler = address(&calling_entry);
    how.handler_end = address(&calling_end);
    const tutti_range code{reinterpret_cast<std::uintptr_t>(&kick_self), address(&kick_self_end)};
    ASSERT_EQ(d.call(TUTTI_ALLOW, &code), 0);
    ASSERT_EQ(d.call(TUTTI_TICK_REGISTER, &how), 0);
    tutti_tick_entry& e = d.entry(how.number);
    write_once<__u64>(e.stack_end, ~__u64{0});
    tracer t;
    const std::size_t tick = count_from(t, "__x64_sys_ioctl", [&] {
        write_once<__u32>(e.preemptable, 1);
        kick_self(d.fd(), how.number);
    });
    EXPECT_EQ(read_once(e.redirected), 21u);
    EXPECT_EQ(d.call(TUTTI_TICK_UNREGISTER), 0);

    struct sigaction on_signal{};
    on_signal.sa_handler = call_getppid;
    ASSERT_EQ(::sigaction(SIGURG, &on_signal, nullptr), 0);
    const std::size_t signal =
        count_from(t, "__x64_sys_tgkill", [process = ::getpid()] { ::syscall(SYS_tgkill, process, process, SIGURG); });

    std::printf("functions of the kernel to the handler: %zu of a tick, %zu of a signal\n", tick, signal);
    EXPECT_GT(tick, 0u);
    EXPECT_LT(tick, signal);
}

}  // namespace
}  // namespace kernel_test
