#include "interpreter.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>

namespace crossings {
namespace {

using tutti::tx;
using namespace std::chrono_literals;

/// What a `fail` step throws. It is no std::exception, as little as a restart is.
struct failure {
    long number;
};

/// Where the threads of a program wait for each other, for a while.
class meeting {
public:
    explicit meeting(int threads) : expected_{threads} {}

    void wait() {
        std::unique_lock hold{guard_};
        const int mine = ++here_;
        // All of one turn; nobody waits for a thread that never comes.
        const int turn = (mine + expected_ - 1) / expected_ * expected_;
        if (mine == turn) come_.notify_all();
        else come_.wait_for(hold, 1ms, [&] { return here_ >= turn; });
    }

private:
    const int expected_;
    int here_ = 0;
    std::mutex guard_;
    std::condition_variable come_;
};

class actor;

/// A participant as the number of its step wants it.
class voter final : public tutti::participant {
public:
    voter(actor& who, int number, const node& n) : who_{who}, number_{number}, node_{n} {}
    tutti::vote prepare() override;
    void commit() noexcept override;
    void abort() noexcept override;
    void rolled_back() noexcept override;
    // A block that waits goes on by its time limit.
    bool heed_retry() override { return true; }

private:
    actor& who_;
    int number_;
    const node& node_;
};

/// What a hook captures: perhaps an object whose destructor runs a block.
struct captured {
    std::shared_ptr<ends_in_a_block> held;
    explicit captured(unsigned options)
        : held{(options & holds_block) != 0 ? std::make_shared<ends_in_a_block>(of_captures) : nullptr} {}
};

class actor {
public:
    actor(world& w, meeting& m, std::atomic<std::uint32_t>& clock) : world_{w}, meeting_{m}, trace_{clock} {}

    void run_at_top(const std::vector<node>& body, bool throws = false) {
        for (const node& n : body) run_at_top(n, throws);
    }
    void read_all();

    trace take() { return std::move(trace_); }
    void note(const event& e) { trace_.note(e); }
    /// How often the step was done.
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
    void burn(const node& n);
    void meet(const node& n);

    /// The body of a call: what it tells the trace, and the steps.
    void enter(tx& t, const node& n, const std::vector<node>& body, int call, enclosure as);
    /// Runs `make_call(number of the call)`, which returns whether the block was kept, and tells the trace how it
    /// ended. What it throws goes on where `throws`.
    template <class Call>
    bool call(const int& number, bool throws, Call&& make_call, bool is_part_of_parent = false);

    world& world_;
    meeting& meeting_;
    trace trace_;
    std::map<const node*, int> counts_;
    std::deque<voter> voters_;
    int calls_ = 0;
    int hooks_ = 0;
    int innermost_ = 0;                                                ///< the call whose body runs
    std::optional<std::chrono::steady_clock::time_point> deadline_{};  ///< of the outermost block that runs
    sums_of_block added_{};                                            ///< by the open nested block that runs, so far
};

tutti::vote voter::prepare() {
    who_.note({.what = happening::told, .of = step::join, .a = number_, .b = static_cast<int>(telling::prepare)});
    switch (node_.first % 4) {
        case 1: return who_.count_of(node_)++ == 0 ? tutti::vote::restart : tutti::vote::commit;
        case 2: return tutti::vote::cancel;
        case 3: throw failure{planned + 900};
        default: return tutti::vote::commit;
    }
}
void voter::commit() noexcept {
    who_.note({.what = happening::told, .of = step::join, .a = number_, .b = static_cast<int>(telling::commit)});
}
void voter::abort() noexcept {
    who_.note({.what = happening::told, .of = step::join, .a = number_, .b = static_cast<int>(telling::abort)});
}
void voter::rolled_back() noexcept {
    who_.note({.what = happening::told, .of = step::join, .a = number_, .b = static_cast<int>(telling::rolled_back)});
}

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

void actor::enter(tx& t, const node& n, const std::vector<node>& body, int call, enclosure as) {
    innermost_ = call;
    trace_.note({.what = happening::enters, .of = n.what, .a = call, .b = static_cast<int>(as), .options = n.options});
    if ((n.options & as_irrevocable) != 0)
        trace_.note({.what = happening::is_strict, .of = n.what, .a = call, .c = t.irrevocable() ? 1 : 0});
    run(t, body);
    trace_.note({.what = happening::asks, .of = n.what, .a = call, .b = static_cast<int>(wish::to_end)});
}

template <int Site>
bool actor::run_at_site(const tutti::options& how, bool strictly, const node& n, int number) {
    const auto body = [&](tx& t) { enter(t, n, n.body, number, enclosure::outermost); };
    if (!strictly) return tutti::try_atomically(how, body);
    tutti::atomically(how, body);
    return true;
}

tutti::mode mode_of(unsigned options) {
    if ((options & as_irrevocable) != 0) return tutti::mode::irrevocable;
    return (options & as_visible) != 0 ? tutti::mode::visible : tutti::mode::optimistic;
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
        // A site learns how long its blocks take.
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

void actor::burn(const node& n) {
    // Each fourth time it takes longer than a block usually does: until a deadline is near, if there is one.
    const bool longer = count_of(n)++ % 4 == 3;
    const std::chrono::microseconds usual{5 + n.first % 5 * 5};
    auto until = std::chrono::steady_clock::now() + (longer ? 6 : 1) * usual;
    if (longer && deadline_) until = *deadline_ - 2 * usual;
    while (std::chrono::steady_clock::now() < until) {}
}

void actor::meet(const node& n) {
    // A block that runs again and again goes on without the others.
    if (count_of(n)++ < 4) meeting_.wait();
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
            // Those of the blocks that wait, or are rolled back, end by an exception; the others go on.
            // The destructor of the listener runs a block, which the interruption must not end.
            tutti::interruption raised;
            const tutti::broadcast<value>::listener here{world_.channel()};
            raised.raise();
            return run_at_top(n.body, throws);
        }
        case step::burn: return burn(n);
        case step::meet: return meet(n);
        default: return run_alone(n);
    }
}

void actor::run(tx& t, const std::vector<node>& body) {
    for (const node& n : body) run(t, n);
}

void actor::run(tx& t, const node& n) {
    switch (group_of(n.what)) {
        case group::block: return run_block(t, n);
        case group::ending: return end(t, n);
        case group::hook: return run_hook(t, n);
        case group::mode: return run_mode(t, n);
        case group::data: break;
    }
    const long result = run_data(t, n);
    if (n.what == step::sum_add) added_[static_cast<std::size_t>(n.first % sums)] += n.second;
    trace_.note({.what = happening::did, .of = n.what, .first = n.first, .second = n.second, .c = result});
}

long actor::run_data(tx& t, const node& n) {
    if ((n.options & (starved | fragile)) == 0) return world_.apply(t, n.what, n.first, n.second);
    // Of some the failure leaves the body.
    const bool leaves = n.second % 4 == 3;
    try {
        return world_.apply_failing(t, n, leaves ? 1 + static_cast<std::uint64_t>(n.first % 4) : 1000);
    } catch (const std::bad_alloc&) {
    } catch (const copy_failure&) {}
    const long number = planned + 800;
    trace_.note(
        {.what = happening::asks, .of = n.what, .a = innermost_, .b = static_cast<int>(wish::to_throw), .c = number});
    throw failure{number};
}

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

void actor::run_hook(tx& t, const node& n) {
    const int number = ++hooks_;
    const captured held{n.options};
    // The call may leave by a restart, before or after it has registered the hook.
    const auto hooked = [&](point at, bool surely = true) {
        trace_.note(
            {.what = happening::hooked, .of = n.what, .a = number, .b = static_cast<int>(at), .c = surely ? 1 : 0});
    };
    const auto do_register = [&n](const auto& call) {
        for (std::uint64_t at = 1;; ++at) {
            try {
                const failing here{(n.options & starved) != 0, false, at};
                return call();
            } catch (const std::bad_alloc&) {
                if ((n.options & starved) == 0) throw;
            }
        }
    };
    const auto in_between = [this, &n, number](point at, const auto& act) {
        trace_.note({.what = happening::runs, .of = n.what, .a = number, .b = static_cast<int>(at)});
        const int outside = std::exchange(innermost_, at == point::before_commit ? innermost_ : 0);
        long what = 0;
        try {
            act();
        } catch (const failure& f) {
            what = f.number;
        } catch (const tutti::cancelled&) {
            what = cancelled_thrown;
        } catch (const tutti::usage_error&) {
            what = usage_error_thrown;
        } catch (const tutti::interrupted&) {
            what = interrupted_thrown;
        } catch (const tutti::deadline_missed&) {
            what = missed_thrown;
        }
        innermost_ = outside;
        trace_.note({.what = happening::has_run, .of = n.what, .a = number, .c = what});
        switch (what) {
            case 0: return;
            case cancelled_thrown: throw tutti::cancelled{};
            case usage_error_thrown: throw tutti::usage_error{"of a hook"};
            case interrupted_thrown: throw tutti::interrupted{};
            case missed_thrown: throw tutti::deadline_missed{};
            default: throw failure{what};
        }
    };
    switch (n.what) {
        case step::before_commit:
            hooked(point::before_commit, false);
            do_register([&] {
                t.before_commit([this, &n, held, in_between](tx& inner) {
                    in_between(point::before_commit, [&] { run(inner, n.body); });
                });
            });
            return hooked(point::before_commit);
        case step::at_commit:
            hooked(point::at_commit, false);
            do_register([&] { t.at_commit([held, in_between] { in_between(point::at_commit, [] {}); }); });
            return hooked(point::at_commit);
        case step::on_commit:
            hooked(point::on_commit, false);
            do_register([&] {
                t.on_commit(
                    [this, &n, held, in_between] { in_between(point::on_commit, [&] { run_at_top(n.body, true); }); });
            });
            return hooked(point::on_commit);
        case step::on_abort:
            hooked(point::on_abort, false);
            do_register([&] {
                t.on_abort([this, &n, held, in_between](tutti::abort_cause) {
                    in_between(point::on_abort, [&] {
                        // Where a nested block is rolled back alone, its transaction goes on, and no other may run.
                        if (!tutti::detail::access::running(tutti::detail::current_or_attach()))
                            run_at_top(n.body, false);
                    });
                });
            });
            return hooked(point::on_abort);
        case step::join:
            hooked(point::participant, false);
            do_register([&] { t.join(voters_.emplace_back(*this, number, n)); });
            return hooked(point::participant);
        default: return;
    }
}

void actor::run_mode(tx& t, const node& n) {
    switch (n.what) {
        case step::lock:
            return tutti::acquire(t, {&world::locks, static_cast<std::uint64_t>(n.first % 2), n.second % 2 == 0});
        case step::visible:
            if (!t.irrevocable()) t.become_visible();
            return;
        case step::irrevocable:
            t.become_irrevocable();
            return trace_.note({.what = happening::strict, .of = n.what, .a = innermost_});
        case step::wait:
            if (!t.irrevocable()) {
                trace_.note(
                    {.what = happening::asks, .of = n.what, .a = innermost_, .b = static_cast<int>(wish::to_give_way)});
                tutti::retry_for(t, std::chrono::microseconds{5 + n.first % 4 * 20});
            }
            return;
        case step::burn: return burn(n);
        case step::meet: return meet(n);
        default: return;
    }
}

void actor::end(tx& t, const node& n) {
    const auto ask = [&](wish w, long what) {
        trace_.note({.what = happening::asks, .of = n.what, .a = innermost_, .b = static_cast<int>(w), .c = what});
    };
    switch (n.what) {
        case step::cancel: ask(wish::to_cancel, 0); tutti::cancel(t);
        case step::fail: {
            const long number = planned + n.first;
            ask(wish::to_throw, number);
            throw failure{number};
        }
        case step::restart:
            if (t.irrevocable() || count_of(n)++ >= 1 + n.first % 3) return;
            ask(wish::to_restart, 0);
            tutti::restart(t);
        case step::give_way:
            if (t.irrevocable()) return;
            ask(wish::to_give_way, 0);
            tutti::retry(t);
        default: return;
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

}  // namespace

std::vector<trace> interpret(const program& p, world& w, std::atomic<std::uint32_t>& clock) {
    std::deque<actor> actors;
    std::vector<std::thread> threads;
    const int many = static_cast<int>(p.threads.size()) * p.copies;
    meeting together{many};
    for (const auto& body : p.threads)
        for (int i = 0; i < p.copies; ++i) {
            actor& a = actors.emplace_back(w, together, clock);
            if (many == 1) {
                a.run_at_top(body);
                break;
            }
            threads.emplace_back([&together, &a, &body] {
                together.wait();
                a.run_at_top(body);
            });
        }
    for (auto& t : threads) t.join();
    actors.emplace_back(w, together, clock).read_all();
    std::vector<trace> traces;
    for (actor& a : actors) traces.push_back(a.take());
    return traces;
}

void collect_what_is_retired() {
    static tutti::var<std::string> spare{std::string{}};
    for (int i = 0; i < 520; ++i) spare.store({});
}

}  // namespace crossings
