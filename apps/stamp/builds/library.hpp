// The programs on Tutti's transactions, written as users of the library write them.
#pragma once

#include <source_location>

#include <tutti/tutti.hpp>

#include "stamp/builds/counts.hpp"
#include "stamp/builds/lengths.hpp"

namespace stamp {

struct library {
    template <class T>
    using shared = tutti::var<T>;
    using context = tutti::tx;

    template <class Body>
    static auto atomically(const char* site, const Body& body,
                           std::source_location at = std::source_location::current()) {
        const stopwatch timed{site};
        return tutti::atomically({.name = site, .mode = mode}, body, at);
    }
    template <class Body>
    static auto reading(const char* site, const Body& body, std::source_location at = std::source_location::current()) {
        const stopwatch timed{site};
        return tutti::atomically({.name = site, .read_only = true, .mode = mode}, body, at);
    }
    template <class T, class... Arguments>
    static T* create(context& t, Arguments... arguments) {
        return tutti::create<T>(t, arguments...);
    }
    template <class T>
    static void destroy(context& t, T* object) {
        tutti::destroy(t, object);
    }
    /// Blocks are either timed or counted, because counting would influence the times.
    static void start_counting() {
        if (times_blocks) return stopwatch::start();
        tutti::reset_statistics();
        tutti::enable_statistics(true);
    }
    static counts counted() {
        if (times_blocks) {
            lengths = stopwatch::stop();
            return {.commits = stopwatch::blocks(), .aborts = std::nullopt};
        }
        counts all{.commits = 0, .aborts = 0};
        for (const tutti::site_statistics& site : tutti::statistics()) {
            if (site.name.starts_with("var::")) continue;  // single accesses between the phases of a program
            all.commits += site.commits;
            *all.aborts += site.aborts;
        }
        tutti::enable_statistics(false);
        return all;
    }

    static inline tutti::mode mode = tutti::mode::optimistic;
    static inline bool times_blocks = false;
    static inline std::vector<site_lengths> lengths;  ///< of the latest measured part
};

}  // namespace stamp
