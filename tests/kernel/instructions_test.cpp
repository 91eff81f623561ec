// Counts the instructions of a tick and of a signal that a thread sends to itself, because this excludes all other
// threads. The guest counts instructions instead of time (QEMU's -icount), so the comparison is exact.
#include <sys/syscall.h>
#include <x86intrin.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <vector>

#include "kernel/device.hpp"

namespace kernel_test {
namespace {

struct path {
    std::uint64_t to_handler, there_and_back;
};

/// Returns the median of many runs; an instruction takes `ns` of the clock.
template <class F>
path measure(std::uint64_t ns, F&& send) {
    std::vector<std::uint64_t> to, all;
    for (int i = 0; i < 501; ++i) {
        const std::uint64_t begin = __rdtsc();
        send();
        const std::uint64_t end = __rdtsc();
        to.push_back(arrived - begin);
        all.push_back(end - begin);
    }
    const auto median = [ns](std::vector<std::uint64_t>& v) {
        std::ranges::sort(v);
        return v[v.size() / 2] / ns;
    };
    return {median(to), median(all)};
}

void note_arrival(int) { arrived = __rdtsc(); }

TEST(tick_instructions, are_fewer_for_a_tick_than_for_a_signal) {
    const char* const counts = std::getenv("TUTTI_TEST_ICOUNT");
    if (counts == nullptr) GTEST_SKIP() << "this machine does not count instructions as time";
    const auto ns = std::strtoull(counts, nullptr, 10);
    device d;
    tutti_tick_register how = tick_registration();
    how.handler = address(&saving_entry);
    how.handler_end = address(&saving_end);
    const tutti_range code{reinterpret_cast<std::uintptr_t>(&kick_self), address(&kick_self_end)};
    ASSERT_EQ(d.call(TUTTI_ALLOW, &code), 0);
    ASSERT_EQ(d.call(TUTTI_TICK_REGISTER, &how), 0);
    tutti_tick_entry& e = d.entry(how.number);
    write_once<__u64>(e.stack_end, ~__u64{0});
    const path tick = measure(ns, [&] {
        write_once<__u32>(e.preemptable, 1);
        kick_self(d.fd(), how.number);
    });
    EXPECT_EQ(read_once(e.redirected), 501u);
    EXPECT_EQ(read_once(e.deferred), 0u);
    EXPECT_EQ(d.call(TUTTI_TICK_UNREGISTER), 0);

    struct sigaction on_signal{};
    on_signal.sa_handler = note_arrival;
    ASSERT_EQ(::sigaction(SIGURG, &on_signal, nullptr), 0);
    const path signal = measure(ns, [process = ::getpid()] { ::syscall(SYS_tgkill, process, process, SIGURG); });

    const auto show = [](const char* what, const path& p) {
        std::printf("%s: %llu to the handler, %llu there and back\n", what,
                    static_cast<unsigned long long>(p.to_handler), static_cast<unsigned long long>(p.there_and_back));
    };
    show("tick", tick);
    show("signal", signal);
    EXPECT_LT(tick.to_handler, signal.to_handler);
    EXPECT_LT(tick.there_and_back, signal.there_and_back);
}

}  // namespace
}  // namespace kernel_test
