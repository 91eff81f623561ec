// The events of one execution: the history for the checker, and a trace for people.
//
// The time of an event is its number. The bounds of an attempt are conservative. Its begin is not later than the
// engine's, which samples a snapshot before the body runs, and its end is not earlier. The real-time order therefore
// has no wrong pairs. A second attempt begins with the last event of the first.
#pragma once

#include "opacity.hpp"
#include "scheduler.hpp"

namespace interleaving {

class journal {
public:
    void clear();

    /// Names a new place, whose initial value is 0.
    int add_place(std::string name);
    /// Returns a new value, named after the thread that writes it: 2003 is the third value of thread 1.
    value fresh(int thread);

    // --- Outermost blocks: expect, then enter for every attempt, perhaps asks, then ended.
    void expect(int thread);
    void enter(int thread);
    void ask_to_commit(int thread);
    void ended(int thread, bool committed);

    // --- Inside an attempt.
    void read(int thread, int place, value v);
    void write(int thread, int place, value v);
    void open(int thread);
    void close(int thread);
    /// Undoes nested blocks until `depth` of them are open.
    void undo_to(int thread, int depth);
    /// Records that the engine has rolled back to the last block opened at `depth`, and has dropped the later reads.
    /// One attempt ends, and another begins with their common part. `times` counts such roll-backs since the last
    /// `enter`. Returns true if this is a new one.
    bool record_partial_rollback(int thread, int depth, std::uint32_t times);
    [[nodiscard]] int depth(int thread) const;
    void irrevocable(int thread);
    void gave_up(int thread, const char* how);
    /// Returns the index of the running attempt, or -1; for `doom`.
    [[nodiscard]] int running(int thread) const;
    void doom(int attempt);
    /// Returns true if the running attempt was doomed.
    [[nodiscard]] bool is_doomed(int thread) const;

    /// Records an access that is a transaction of its own and happened between `begin` and now.
    void record_lone_access(int thread, instant begin, operation::kind what, int place, value v);

    /// Adds a line to the trace only. `text` is a literal.
    void note(int thread, const char* text);
    [[nodiscard]] instant now();

    /// Reports an error that was found during the execution; the first one counts.
    void report_error(std::string what);
    /// Returns the execution's error, if any.
    [[nodiscard]] std::optional<std::string> verdict() const;
    [[nodiscard]] std::string trace() const;

private:
    struct line {
        std::uint32_t point;
        int thread;
        const char* text;
        int place;  // or -1
        value v;
    };
    struct per_thread {
        int attempt = -1;
        int depth = 0;
        std::uint32_t partial_rollbacks = 0;
        instant last = 0;  // number of the event
        value values = 0;
    };
    instant add_event(int thread, const char* text, int place = -1, value v = 0);
    per_thread& of(int thread) { return threads_[static_cast<std::size_t>(thread)]; }
    [[nodiscard]] const per_thread& of(int thread) const { return threads_[static_cast<std::size_t>(thread)]; }
    attempt& current(int thread);

    history history_;
    std::vector<std::string> places_;
    std::vector<line> lines_;
    std::vector<per_thread> threads_ = std::vector<per_thread>(scheduler::max_threads);
    instant now_ = 0;
    std::optional<std::string> complaint_;
};

}  // namespace interleaving
