// Blocks that wait: for a change, or for irrevocable blocks.
#include "cluster/engines/suite.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/backend/fault_injection.hpp"
#include "cluster/engines/journal.hpp"

namespace tutti::cluster::testing {
namespace {

/// Returns true if the thread has slept for some milliseconds.
bool sleeps(pid_t thread) {
    for (int look = 0; look < 5; ++look) {
        std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/stat"};
        std::string text;
        std::getline(file, text);
        const std::size_t name_ends = text.rfind(')');  // the name may contain any characters
        if (name_ends == std::string::npos || text.compare(name_ends + 2, 1, "S") != 0) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

}  // namespace

std::string retry_wakes(const under_test& e, std::chrono::seconds limit) {
    const engine_options how = e.options();
    node here{how}, there{how};
    const ref<tagged> bell{here, "bell"}, bell_there{there, "bell"}, other{there, "other"};
    atomically([&](tx& t) { bell_there.publish(t, {0}); });
    std::latch looked{1};
    std::atomic<int> attempts{0};
    std::atomic<bool> woken{false};
    pid_t who = 0;
    std::thread sleeper{[&] {
        who = ::gettid();
        atomically([&](tx& t) {
            const std::uint64_t seen = bell.read(t).tag;
            if (attempts.fetch_add(1) == 0) looked.count_down();
            // Also waits for an object that never appears, so that the block cannot end by itself; the caller's limit
            // applies.
            if (seen == 0) retry(t);
        });
        woken = true;
    }};
    looked.wait();
    // Without this wait, the block could notice the change before it sleeps.
    while (!sleeps(who)) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    atomically([&](tx& t) { other.publish(t, {1}); });
    atomically([&](tx& t) { bell_there.write(t).tag = 1; });
    const auto late = std::chrono::steady_clock::now() + limit;
    while (!woken.load() && std::chrono::steady_clock::now() < late)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    if (woken.load()) {
        sleeper.join();
        return {};
    }
    backend::injected_fault = backend::fault::none;  // so that the thread ends
    atomically([&](tx& t) { bell_there.write(t).tag = 2; });
    sleeper.join();
    return "a block continues to sleep, although one of its reads has changed";
}

std::string irrevocable_blocks_run_once(const under_test& e, std::size_t rounds) {
    const engine_options how = e.options();
    node nodes[2]{node{how}, node{how}};
    const auto at = [&](unsigned n, std::uint64_t i) { return ref<tagged>{nodes[n], {0, i}}; };
    atomically([&](tx& t) {
        at(0, 0).publish(t, {0});
        at(0, 1).publish(t, {0});
    });
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> added{0}, runs{0};
    std::mutex guard;
    std::string wrong;
    const auto note = [&](const std::exception& x) {
        const std::lock_guard hold{guard};
        wrong = x.what();
        stop = true;
    };
    std::vector<std::thread> crew;
    for (unsigned n = 0; n < 2; ++n) {
        crew.emplace_back([&, n] {  // both objects grow together
            try {
                while (!stop.load()) {
                    atomically([&](tx& t) {
                        at(n, 0).write(t).tag += 1;
                        at(n, 1).write(t).tag += 1;
                    });
                    added.fetch_add(1);
                }
            } catch (const std::exception& x) {
                note(x);
            }
        });
    }
    std::vector<std::thread> bound;
    for (unsigned n = 0; n < 2; ++n) {
        bound.emplace_back([&, n] {
            try {
                for (std::size_t i = 0; i < rounds && !stop.load(); ++i) {
                    atomically({.mode = mode::irrevocable}, [&](tx& t) {
                        runs.fetch_add(1);
                        const std::uint64_t seen = at(n, i % 2).read(t).tag;
                        at(n, (i + 1) % 2).write(t).tag = seen + 1;
                        at(n, i % 2).write(t).tag = seen + 1;
                    });
                }
            } catch (const std::exception& x) {
                note(x);
            }
        });
    }
    for (std::thread& t : bound) t.join();
    stop = true;
    for (std::thread& t : crew) t.join();
    if (!wrong.empty()) return wrong;
    if (runs.load() != 2 * rounds) return "an irrevocable block ran more than once";
    const std::uint64_t all = added.load() + 2 * rounds;
    const auto [a, b] = atomically([&](tx& t) { return std::pair{at(0, 0).read(t).tag, at(0, 1).read(t).tag}; });
    if (a != all || b != all) {
        return std::to_string(all) + " blocks added one, and the objects say " + std::to_string(a) + " and " +
               std::to_string(b);
    }
    return {};
}

}  // namespace tutti::cluster::testing
