// A thread of a program: runs its steps with the library, and records events in a trace.
//
// Each kind of step has a file with its member functions: outermost_steps.cpp, body_steps.cpp, nested_blocks.cpp and
// hooks.cpp.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "trace.hpp"
#include "world.hpp"

namespace crossings {

using tutti::tx;

/// Thrown by a `fail` step. Like a restart, it is not a std::exception.
struct failure {
    long number;
};

/// A point at which the threads of a program wait for each other, for a limited time.
class rendezvous_point {
public:
    explicit rendezvous_point(int threads) : expected_{threads} {}

    void wait() {
        std::unique_lock hold{guard_};
        const int mine = ++here_;
        // Every `expected_` arrivals form a turn, whose threads wait for each other. The wait has a limit, because a
        // thread may have ended early.
        const int turn = (mine + expected_ - 1) / expected_ * expected_;
        if (mine == turn) come_.notify_all();
        else come_.wait_for(hold, std::chrono::milliseconds{1}, [&] { return here_ >= turn; });
    }

private:
    const int expected_;
    int here_ = 0;
    std::mutex guard_;
    std::condition_variable come_;
};

class actor;

/// A participant whose behaviour depends on the number of its step.
class voter final : public tutti::participant {
public:
    voter(actor& who, int number, const node& n) : who_{who}, number_{number}, node_{n} {}
    tutti::vote prepare() override;
    void commit() noexcept override;
    void abort() noexcept override;
    void on_rollback() noexcept override;
    // A time limit ends the wait of a block.
    bool on_retry() override { return true; }

private:
    actor& who_;
    int number_;
    const node& node_;
};

/// The capture of a hook, which may contain an object whose destructor runs a block.
struct captured {
    std::shared_ptr<ends_in_a_block> held;
    explicit captured(unsigned options)
        : held{(options & holds_block) != 0 ? std::make_shared<ends_in_a_block>(of_captures) : nullptr} {}
};

class actor {
public:
    actor(world& w, rendezvous_point& m, std::atomic<std::uint32_t>& clock)
        : world_{w}, rendezvous_point_{m}, trace_{clock} {}

    void run_at_top(const std::vector<node>& body, bool throws = false) {
        for (const node& n : body) run_at_top(n, throws);
    }
    void read_all();

    trace take() { return std::move(trace_); }
    void note(const event& e) { trace_.note(e); }
    /// Returns the number of runs of the step.
    int& count_of(const node& n) { return counts_[&n]; }

private:
    using sums_of_block = std::array<long, sums>;

    void run_at_top(const node& n, bool throws);
    void run_outermost(const node& n, bool throws);
    void run_alone(const node& n);
    template <int Site>
    bool run_at_site(const tutti::options& how, bool strictly, const node& n, int call);
    void run(tx& t, const std::vector<node>& body);
    void run(tx& t, const node& n);
    long run_data(tx& t, const node& n);
    void run_block(tx& t, const node& n);
    void run_open(tx& t, const node& n);
    void run_either(tx& t, const node& n);
    void run_hook(tx& t, const node& n);
    void run_mode(tx& t, const node& n);
    void end(tx& t, const node& n);
    void spend_time(const node& n);
    void rendezvous(const node& n);

    /// Runs the body of a call: its trace events, and its steps.
    void enter(tx& t, const node& n, const std::vector<node>& body, int call, enclosure as);
    /// Runs `make_call()`, which returns true if the block was kept, and records the outcome. Rethrows its exception if
    /// `throws`.
    template <class Call>
    bool call(const int& number, bool throws, Call&& make_call, bool is_part_of_parent = false);

    world& world_;
    rendezvous_point& rendezvous_point_;
    trace trace_;
    std::map<const node*, int> counts_;
    std::deque<voter> voters_;
    int calls_ = 0;
    int hooks_ = 0;
    int innermost_ = 0;                                                ///< the call whose body runs
    std::optional<std::chrono::steady_clock::time_point> deadline_{};  ///< of the running outermost block
    sums_of_block added_{};  ///< additions of the running open nested block so far
};

template <class Call>
bool actor::call(const int& number, bool throws, Call&& make_call, bool is_part_of_parent) {
    const int outside = innermost_;
    const sums_of_block added = added_;
    const auto left = [&](outcome how, long what) {
        innermost_ = outside;
        if (how != outcome::done && !is_part_of_parent) added_ = added;
        trace_.note({.what = happening::leaves, .a = number, .b = static_cast<int>(how), .c = what});
    };
    try {
        const bool kept = make_call();
        left(kept ? outcome::done : outcome::cancelled, 0);
        return kept;
    } catch (const failure& f) {
        left(outcome::threw, f.number);
        if (throws) throw;
    } catch (const tutti::cancelled&) {
        left(outcome::cancelled, cancelled_thrown);
        if (throws && outside == 0) throw;
    } catch (const tutti::usage_error&) {
        left(outcome::threw, usage_error_thrown);
        if (throws || outside != 0) throw;
    } catch (const tutti::interrupted&) {
        left(outcome::threw, interrupted_thrown);
        if (throws || outside != 0) throw;
    } catch (const tutti::deadline_missed&) {
        left(outcome::threw, missed_thrown);
        if (throws || outside != 0) throw;
    }
    return false;
}

/// Returns the mode that the options of a block request.
[[nodiscard]] tutti::mode mode_of(unsigned options);

}  // namespace crossings
