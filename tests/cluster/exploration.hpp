// Runs a program in all orders of its events, each once. Orders that differ only in the order of independent events
// count as one.
//
// An event happens at one place (a node), after another event has caused it. Two events of one place may depend on each
// other. Two events of different places are independent, unless one causes the other, directly or through other events.
// The sequence of events at each place therefore identifies an order (a trace: Mazurkiewicz, 1977). Of the orders with
// one trace, the search runs one: "Optimal Dynamic Partial Order Reduction" (Abdulla, Aronis, Jonsson and Sagonas, POPL
// 2014), source sets with sleep sets. The search does not store states: it runs the program again for each order.
//
// REQUIRES of a program: the order of its events decides what happens. An event that has been caused can happen at any
// later time. The effect of an event depends only on its place, and on the data it was made of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tutti::cluster::testing {

/// The events of one run.
class event_set {
public:
    /// Adds an event at `place`. The event happens some time after the current one.
    void add(unsigned place, std::string name, std::function<void()> what);
    [[nodiscard]] const std::vector<unsigned>& pending() const noexcept { return pending_; }
    void run_event(unsigned event);

    static constexpr unsigned nothing = ~0u;
    [[nodiscard]] unsigned place_of(unsigned event) const noexcept { return events_[event].place; }
    /// Returns the event that has caused `event`, or `nothing` for an initial event.
    [[nodiscard]] unsigned cause_of(unsigned event) const noexcept { return events_[event].cause; }
    [[nodiscard]] const std::string& name_of(unsigned event) const noexcept { return events_[event].name; }

private:
    struct caused_event {
        unsigned place;
        unsigned cause;
        std::string name;
        std::function<void()> what;
    };
    std::vector<caused_event> events_;
    std::vector<unsigned> pending_;  // in the order in which they were caused
    unsigned now_ = nothing;
};

/// A program in execution.
class run {
public:
    virtual ~run() = default;
    [[nodiscard]] virtual event_set& events() noexcept = 0;
    /// Returns a description of the error, or an empty string. REQUIRES: nothing is pending.
    [[nodiscard]] virtual std::string verdict() = 0;
};

struct exploration {
    std::uint64_t orders = 0;        ///< number of orders that were run to their end
    std::uint64_t abandoned = 0;     ///< number of orders that turned out to equal an earlier one, and were stopped
    bool complete = false;           ///< true if the search has run all orders
    std::size_t longest = 0;         ///< number of events of the longest order
    std::string wrong;               ///< the error of the last order
    std::vector<std::string> order;  ///< the events of the last order, if it has an error
};

inline constexpr const char* no_end = "it does not end";

struct bounds {
    std::uint64_t orders = ~std::uint64_t{0};
    std::size_t events = 1000;  ///< limit for one order; an order with more events counts as endless
};

/// Runs the orders up to the first one with an error.
exploration explore(const bounds& most, const std::function<std::unique_ptr<run>()>& begin);

}  // namespace tutti::cluster::testing
