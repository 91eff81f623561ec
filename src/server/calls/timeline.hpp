// What ran where and when: slices of calls by worker, recorded on request and shown as a trace of Chrome's format
// (Google: "Trace Event Format"), which Perfetto opens. So figure 2 of Silvestri et al., "Preemptive Software
// Transactional Memory", can be seen of a real run.
//
// Thread safety: `begin` and `end` of a worker on its own thread; `start` and `stop` from any. A worker's slices are
// under a lock of its own, which is taken only while a recording is under way.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace tutti::server {

class timeline {
public:
    /// So many slices are kept of each worker; later ones are left out, and counted.
    static constexpr std::size_t most_slices = 50'000;

    explicit timeline(unsigned workers) : lanes_(workers) {}

    /// Worker `w` takes a call up, for the first time or again. `name` stays as long as the server;
    /// `call` tells calls apart.
    void begin(unsigned w, const char* name, int priority, std::uint64_t call) noexcept {
        if (records_.load(std::memory_order_relaxed)) note_begin(w, name, priority, call);
    }
    /// It puts it down: "finished", "preempted" or "parked".
    void end(unsigned w, const char* how) noexcept {
        if (records_.load(std::memory_order_relaxed)) note_end(w, how);
    }

    /// From here on, from nothing.
    void start();
    /// Ends it; the trace as JSON.
    [[nodiscard]] std::string stop();

private:
    using clock = std::chrono::steady_clock;
    struct slice {
        const char* name;
        const char* how;
        int priority;
        std::uint64_t call;
        clock::time_point from, to;
    };
    struct lane {
        std::mutex mutex;
        std::vector<slice> slices;
        slice open{};  // whose name is null: none
        std::size_t left_out = 0;
    };
    void note_begin(unsigned w, const char* name, int priority, std::uint64_t call) noexcept;
    void note_end(unsigned w, const char* how) noexcept;

    std::mutex control_;  // of start and stop
    std::atomic<bool> records_{false};
    std::deque<lane> lanes_;
    clock::time_point started_;
};

}  // namespace tutti::server
