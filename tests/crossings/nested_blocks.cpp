// Closed, flat and open nested blocks, checkpoints and alternatives.
#include "actor.hpp"

namespace crossings {

void actor::run_block(tx& t, const node& n) {
    const sums_of_block added = added_;
    const bool throws = (n.options & swallows) == 0;
    const tutti::options how{.read_only = (n.options & read_only) != 0, .mode = mode_of(n.options)};
    const auto body_of = [&](int number, enclosure as) {
        return [this, &n, &added, number, as](tx& inner) {
            added_ = added;
            enter(inner, n, n.body, number, as);
        };
    };
    switch (n.what) {
        case step::closed: {
            const int number = ++calls_;
            call(number, throws, [&] {
                if ((n.options & strictly_option) == 0)
                    return tutti::try_atomically(how, body_of(number, enclosure::closed));
                tutti::atomically(how, body_of(number, enclosure::closed));
                return true;
            });
            return;
        }
        case step::flat: {
            const int number = ++calls_;
            tutti::options flat = how;
            flat.nesting = tutti::nesting::flat;
            call(
                number, throws,
                [&] {
                    tutti::atomically(flat, [&](tx& inner) { enter(inner, n, n.body, number, enclosure::flat); });
                    return true;
                },
                true);
            return;
        }
        case step::checkpoint: {
            const int number = ++calls_;
            call(number, throws, [&] {
                tutti::checkpoint(t, body_of(number, enclosure::closed));
                return true;
            });
            return;
        }
        case step::attempt: try { run(t, n.body);
            } catch (const failure&) {
                trace_.note({.what = happening::caught, .of = n.what});
            }
            return;
        case step::open: return run_open(t, n);
        case step::either: return run_either(t, n);
        default: return;
    }
}

void actor::run_open(tx& t, const node& n) {
    const sums_of_block outside = added_;
    int number = ++calls_;
    call(number, (n.options & swallows) == 0, [&] {
        const auto body = [&](tx& inner) {
            added_ = {};
            enter(inner, n, n.body, number, &inner == &t ? enclosure::closed : enclosure::apart);
            return added_;
        };
        const auto undo = [this, number](tx& inner, const sums_of_block& added) {
            const int again = -number;
            trace_.note(
                {.what = happening::enters, .of = step::open, .a = again, .b = static_cast<int>(enclosure::undo)});
            for (std::size_t i = 0; i < added.size(); ++i) {
                if (added[i] == 0) continue;
                const long result =
                    world_.apply(inner, step::sum_add, static_cast<int>(i), static_cast<int>(-added[i]));
                trace_.note({.what = happening::did,
                             .of = step::sum_add,
                             .first = static_cast<int>(i),
                             .second = static_cast<int>(-added[i]),
                             .c = result});
            }
            trace_.note({.what = happening::asks, .of = step::open, .a = again, .b = static_cast<int>(wish::to_end)});
            inner.on_commit([this, again] { trace_.note({.what = happening::leaves, .a = again, .b = 0}); });
        };
        if (n.second == 0) tutti::open_nested(t, body, undo);
        else tutti::open_nested(t, {{&world::locks, static_cast<std::uint64_t>(n.second % 2)}}, body, undo);
        return true;
    });
    added_ = outside;
}

void actor::run_either(tx& t, const node& n) {
    const sums_of_block added = added_;
    const int first = ++calls_;
    const int last = ++calls_;
    int tried = first;
    call(tried, (n.options & swallows) == 0, [&] {
        tutti::or_else(
            t,
            [&](tx& inner) {
                tried = first;
                added_ = added;
                enter(inner, n, n.body, first, enclosure::first_alternative);
            },
            [&](tx& inner) {
                tried = last;
                added_ = added;
                enter(inner, n, n.other, last, enclosure::last_alternative);
            });
        return true;
    });
}

}  // namespace crossings
