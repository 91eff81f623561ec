// The ways to run a transaction of several steps. Each has `run(context&, steps)`; a step offers
//
//   run(context&)              an operation and then some computing
//   operate(context&)          only the operation; returns its result
//   compute()                  only the computing
//   undo(context&, result)     undoes the operation
//   locks()                    the abstract locks that the operation needs
//
// Steps are copied where they are stored, so they are small.
#pragma once

#include <span>

#include <tutti/checkpoint.hpp>
#include <tutti/open_nesting.hpp>

#include "engines/tutti.hpp"

namespace bench {

struct inner_flat : tutti_default {
    static constexpr const char* name = "flat";

    template <class Step>
    static void run(context&, std::span<Step> steps) {
        for (Step& step : steps)
            ::tutti::atomically({.nesting = ::tutti::nesting::flat}, [&step](context& c) { step.run(c); });
    }
};

struct inner_closed : tutti_default {
    static constexpr const char* name = "closed";

    template <class Step>
    static void run(context&, std::span<Step> steps) {
        for (Step& step : steps) ::tutti::atomically([&step](context& c) { step.run(c); });
    }
};

struct inner_checkpoint : tutti_default {
    static constexpr const char* name = "checkpoint";

    template <class Step>
    static void run(context& c, std::span<Step> steps) {
        steps.front().run(c);
        if (steps.size() == 1) return;
        ::tutti::checkpoint(c, [rest = steps.subspan(1)](context& after) { run(after, rest); });
    }
};

/// Only the operation is open, because other transactions should not wait for it.
struct inner_open : tutti_default {
    static constexpr const char* name = "open";

    template <class Step>
    static void run(context& c, std::span<Step> steps) {
        for (Step& step : steps) {
            for (const ::tutti::abstract_lock& lock : step.locks()) ::tutti::acquire(c, lock);
            ::tutti::open_nested(
                c, [&step](context& own) { return step.operate(own); },
                [step](context& own, const auto& result) { step.undo(own, result); });
            step.compute();
        }
    }
};

}  // namespace bench
