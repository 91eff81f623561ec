// The current activity of each thread, and the time of its last record.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "support/effort.hpp"

namespace tutti::torture {

class activity_record {
public:
    activity_record(const char* role, unsigned index) : role_{role}, index_{index} {
        const std::lock_guard hold{guard()};
        all().push_back(this);
    }
    activity_record(const activity_record&) = delete;
    activity_record& operator=(const activity_record&) = delete;
    ~activity_record() {
        const std::lock_guard hold{guard()};
        std::erase(all(), this);
    }

    /// Records an activity.
    /// @param doing  a literal
    void record(const char* doing) {
        doing_.store(doing, std::memory_order_relaxed);
        steps_.fetch_add(1, std::memory_order_relaxed);
        last_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    }

    /// Returns a line for every thread if one of them has recorded nothing for very long; otherwise an empty string.
    static std::string find_standstill() {
        const std::lock_guard hold{guard()};
        bool stands = false;
        std::string lines;
        for (const activity_record* p : all()) {
            const clock::duration quiet = clock::now().time_since_epoch() - clock::duration{p->last_.load()};
            stands |= quiet > std::chrono::seconds{30} * (support::slowdown > 1 ? 4 : 1);
            const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(quiet).count();
            lines += std::string{p->role_} + " " + std::to_string(p->index_) + ": " + p->doing_.load() + " for " +
                     std::to_string(ms) + " ms after " + std::to_string(p->steps_.load()) + " steps\n";
        }
        return stands ? lines : std::string{};
    }

private:
    using clock = std::chrono::steady_clock;
    static std::mutex& guard() {
        static std::mutex one;
        return one;
    }
    static std::vector<activity_record*>& all() {
        static std::vector<activity_record*> list;
        return list;
    }

    const char* role_;
    unsigned index_;
    std::atomic<const char*> doing_{"nothing yet"};
    std::atomic<std::uint64_t> steps_{0};
    std::atomic<clock::rep> last_{clock::now().time_since_epoch().count()};
};

}  // namespace tutti::torture
