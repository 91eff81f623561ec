// Steps outside of any block: outermost blocks, and operations without a block.
#include "actor.hpp"

namespace crossings {

template <int Site>
bool actor::run_at_site(const tutti::options& how, bool strictly, const node& n, int number) {
    const auto body = [&](tx& t) { enter(t, n, n.body, number, enclosure::outermost); };
    if (!strictly) return tutti::try_atomically(how, body);
    tutti::atomically(how, body);
    return true;
}

void actor::run_outermost(const node& n, bool throws) {
    tutti::options how{.read_only = (n.options & read_only) != 0, .mode = mode_of(n.options)};
    if ((n.options & timed) != 0) how.deadline = std::chrono::microseconds{50 + n.first % 20 * 100};
    static constexpr tutti::deadline_tuning early{.visible_factor = 40, .irrevocable_factor = 30};
    if ((n.options & timed) != 0) {
        if (n.second % 2 == 0) how.qos = 0.5;
        if (n.second % 4 > 1) how.tuning = &early;
        deadline_ = std::chrono::steady_clock::now() + how.deadline.value();
    }
    if ((n.options & refuses) != 0) how.when_missed = tutti::missed_deadline::refuse;
    const bool strictly = (n.options & strictly_option) != 0;
    const int number = ++calls_;
    call(number, throws && (n.options & swallows) == 0, [&] {
        // A site learns the duration of its blocks.
        switch (n.second / 4 % 4) {
            case 1: return run_at_site<1>(how, strictly, n, number);
            case 2: return run_at_site<2>(how, strictly, n, number);
            case 3: return run_at_site<3>(how, strictly, n, number);
            default: return run_at_site<0>(how, strictly, n, number);
        }
    });
    deadline_.reset();
}

void actor::run_alone(const node& n) {
    const int number = ++calls_;
    call(number, false, [&] {
        trace_.note(
            {.what = happening::enters, .of = n.what, .a = number, .b = static_cast<int>(enclosure::outermost)});
        const long result = world_.apply_alone(n.what, n.first, n.second);
        trace_.note({.what = happening::did, .of = n.what, .first = n.first, .second = n.second, .c = result});
        trace_.note({.what = happening::asks, .of = n.what, .a = number, .b = static_cast<int>(wish::to_end)});
        return true;
    });
}

void actor::run_at_top(const node& n, bool throws) {
    switch (n.what) {
        case step::closed: return run_outermost(n, throws);
        case step::repeat:
            for (int i = 0; i < 2 + n.first % 8; ++i) run_at_top(n.body, throws);
            return;
        case step::listen: {
            const tutti::broadcast<value>::listener here{world_.channel()};
            return run_at_top(n.body, throws);
        }
        case step::interrupted: {
            // Blocks that wait or are rolled back end by an exception; the others continue. The destructor of the
            // listener runs a block, which the interruption must not end.
            tutti::interruption raised;
            const tutti::broadcast<value>::listener here{world_.channel()};
            raised.raise();
            return run_at_top(n.body, throws);
        }
        case step::spend_time: return spend_time(n);
        case step::rendezvous: return rendezvous(n);
        default: return run_alone(n);
    }
}

void actor::read_all() {
    const int number = ++calls_;
    call(number, false, [&] {
        tutti::atomically([&](tx& t) {
            trace_.note({.what = happening::enters, .a = number, .b = static_cast<int>(enclosure::outermost)});
            const auto look = [&](step what, int how_many) {
                for (int i = 0; i < how_many; ++i) run(t, node{.what = what, .first = i, .second = 0});
            };
            look(step::word_get, words);
            look(step::text_get, texts);
            look(step::share_get, shares);
            look(step::value_get, values);
            look(step::plain_get, plain_words);
            look(step::object_get, objects);
            look(step::hash_get, keys);
            look(step::tree_get, keys);
            look(step::multi_count, keys);
            look(step::hash_set_take, keys);
            look(step::tree_set_take, keys);
            look(step::hash_size, 1);
            look(step::tree_first, 1);
            look(step::queue_size, 1);
            look(step::queue_take, 3);
            look(step::ring_take, ring_capacity);
            look(step::vector_take, 3);
            look(step::heap_take, 3);
            look(step::shot_get, 1);
            look(step::permit_take, 1);
            look(step::channel_receive, 3);
            look(step::counter_get, 1);
            look(step::sum_add, sums);
            trace_.note({.what = happening::asks, .a = number, .b = static_cast<int>(wish::to_end)});
        });
        return true;
    });
}

}  // namespace crossings
