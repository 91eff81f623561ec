// The largest sizes: ten million reads, or ten million writes, in one transaction, and more living threads than a
// twelve-bit descriptor id could name. For release builds only: minutes under a sanitizer would not show more.
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <functional>
#include <mutex>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

constexpr std::size_t ten_million = 10'000'000;

/// Returns the process's largest memory size so far, in MiB.
long peak_mib() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

/// Returns the current memory size in MiB. An earlier test's peak would hide a part of the growth.
long memory_mib() {
    std::ifstream statm{"/proc/self/statm"};
    long all_pages = 0, present_pages = 0;
    statm >> all_pages >> present_pages;
    return present_pages * (::sysconf(_SC_PAGESIZE) / 1024) / 1024;
}

class huge_test : public suite {};

TEST_F(huge_test, commits_a_huge_read_set) {
    std::vector<var<std::uint64_t>> data(ten_million);
    const long before = memory_mib();
    const auto sum = [&](tx& t) {
        std::uint64_t total = 0;
        for (auto& v : data) total += v.get(t);
        data[0].set(t, total + 1);
        return total;
    };
    EXPECT_EQ(atomically(sum), 0u);
    EXPECT_EQ(atomically(sum), 1u);
    // A read costs eight bytes of log. A growing array takes twice that for a moment. Other algorithms need twice as
    // much again.
    EXPECT_LT(peak_mib() - before, 700);
}

TEST_F(huge_test, commits_a_huge_write_set) {
    std::vector<var<std::uint64_t>> data(ten_million);
    const long before = memory_mib();
    atomically([&](tx& t) {
        for (std::size_t i = 0; i < data.size(); ++i) data[i].set(t, i);
        for (std::size_t i = 0; i < data.size(); i += 1000) ASSERT_EQ(data[i].get(t), i);
    });
    for (std::size_t i = 0; i < data.size(); i += 1000) ASSERT_EQ(data[i].load(), i);
    EXPECT_LT(peak_mib() - before, 1200);
    EXPECT_FALSE(try_atomically([&](tx& t) {
        for (auto& v : data) v.set(t, 0);
        cancel(t);
    }));
    for (std::size_t i = 0; i < data.size(); i += 1000) ASSERT_EQ(data[i].load(), i);
}

// Every thread holds a descriptor at the same time. Some are in a transaction that began before the others.
TEST_F(huge_test, runs_many_threads) {
    constexpr unsigned wanted = 4500;
    var<long> counter{0};
    std::mutex guard;
    std::condition_variable all_here;
    unsigned here = 0, expected = wanted;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, std::size_t{128} * 1024);
    std::function<void()> part = [&] {
        atomically([&](tx& t) { counter.set(t, counter.get(t) + 1); });
        {
            std::unique_lock hold{guard};
            if (++here >= expected) all_here.notify_all();
            all_here.wait(hold, [&] { return here >= expected; });
        }
        atomically([&](tx& t) { counter.set(t, counter.get(t) + 1); });
    };
    std::vector<pthread_t> threads;
    while (threads.size() < wanted) {
        pthread_t id = {};
        const auto start = [](void* p) -> void* {
            (*static_cast<std::function<void()>*>(p))();
            return nullptr;
        };
        if (pthread_create(&id, &small, start, &part) != 0) break;
        threads.push_back(id);
    }
    {
        const std::lock_guard hold{guard};
        expected = static_cast<unsigned>(threads.size());
    }
    all_here.notify_all();
    for (const pthread_t id : threads) pthread_join(id, nullptr);
    pthread_attr_destroy(&small);
    EXPECT_EQ(counter.load(), 2 * static_cast<long>(threads.size()));
    if (threads.size() < wanted) GTEST_SKIP() << "the system allows only " << threads.size() << " threads";
}

}  // namespace
}  // namespace tutti::anomalies
