// All orders in which the events of a program can happen, each once, but for those that differ only in the order of
// events that have nothing to do with each other.
//
// An event happens at one place (a node), once it has been caused by another. Two events of one place may have to do
// with each other; two of different places have not, unless one is a cause of the other, directly or through events
// between them. So an order is known by what happens at each place in turn (a trace: Mazurkiewicz, 1977), and of the
// orders with one trace one is run: "Optimal Dynamic Partial Order Reduction" (Abdulla, Aronis, Jonsson and Sagonas,
// POPL 2014), source sets with sleep sets. No state is stored: a program is run again for each of them.
//
// REQUIRES of a program: what happens follows from the order of its events; an event that has been caused can happen
// until it has; what it does depends on its place alone, and on what it was made of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tutti::cluster::testing {

/// The events of one run.
class agenda {
public:
    /// What is to happen there, some time after the event that happens now.
    void add(unsigned place, std::string name, std::function<void()> what);
    [[nodiscard]] const std::vector<unsigned>& pending() const noexcept { return pending_; }
    void carry_out(unsigned event);

    static constexpr unsigned nothing = ~0u;
    [[nodiscard]] unsigned place_of(unsigned event) const noexcept { return events_[event].place; }
    /// The event that has caused it; `nothing` for one of the beginning.
    [[nodiscard]] unsigned cause_of(unsigned event) const noexcept { return events_[event].cause; }
    [[nodiscard]] const std::string& name_of(unsigned event) const noexcept { return events_[event].name; }

private:
    struct happening {
        unsigned place;
        unsigned cause;
        std::string name;
        std::function<void()> what;
    };
    std::vector<happening> events_;
    std::vector<unsigned> pending_;  // in the order in which they were caused
    unsigned now_ = nothing;
};

/// A program under way.
class run {
public:
    virtual ~run() = default;
    [[nodiscard]] virtual agenda& events() noexcept = 0;
    /// What is wrong, or nothing. REQUIRES: nothing is pending.
    [[nodiscard]] virtual std::string verdict() = 0;
};

struct exploration {
    std::uint64_t orders = 0;        ///< that were run to their end
    std::uint64_t abandoned = 0;     ///< that turned out to be like others on their way
    bool complete = false;           ///< those were all
    std::size_t longest = 0;         ///< events
    std::string wrong;               ///< of the last one
    std::vector<std::string> order;  ///< its events, if it is wrong
};

inline constexpr const char* no_end = "it does not end";

struct bounds {
    std::uint64_t orders = ~std::uint64_t{0};
    std::size_t events = 1000;  ///< of one order; beyond that it has no end
};

/// Up to the first that is wrong.
exploration explore(const bounds& most, const std::function<std::unique_ptr<run>()>& begin);

}  // namespace tutti::cluster::testing
