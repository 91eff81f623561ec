// Allocation leak on abort: an attempt that is rolled back leaves an object or its memory behind, or destroys an object
// twice.
//
// The tests end attempts in every way, many times. Afterwards constructors and destructors are balanced, and the heap
// has as many blocks as before. Catches a way out that skips the allocation log, and one that processes the log twice.
#include "anomalies/flavour.hpp"
#include "support/heap.hpp"

namespace tutti::anomalies {
namespace {

std::atomic<long> made{0}, ended{0};

struct thing {
    explicit thing(long v = 0) : value{v} { ++made; }
    thing(const thing& other) : value{other.value} { ++made; }
    thing& operator=(const thing&) = default;
    ~thing() { ++ended; }
    long value;
};

struct refusal {};

struct difficult {
    difficult() { throw refusal{}; }
    thing never;
};

struct alignas(256) aligned_thing : thing {
    using thing::thing;
};

struct veto final : participant {
    vote prepare() override { return vote::cancel; }
    void commit() noexcept override {}
    void abort() noexcept override {}
};

class allocation_leak_on_abort_test : public suite_of_flavours {
protected:
    /// Runs `once` many times, and expects the objects and the heap to be as before. The engine keeps some memory for
    /// later (logs, batches of retired objects). That memory is bounded, so it must not grow with the rounds.
    template <class F>
    void repeat(F once) {
        for (int i = 0; i < 8; ++i) once();
        const std::size_t often = rounds(300);
        const long objects = made - ended;
        const std::int64_t blocks = support::live_blocks;
        for (std::size_t i = 0; i < often; ++i) once();
        EXPECT_EQ(made - ended, objects);
        EXPECT_LE(support::live_blocks - blocks, 4);
    }
};

TEST_P(allocation_leak_on_abort_test, frees_allocations_after_a_cancel) {
    repeat([&] {
        EXPECT_THROW(run(GetParam(),
                         [](tx& t) {
                             (void)create<thing>(t, 1);
                             (void)create<aligned_thing>(t, 2);
                             (void)create<std::uint64_t>(t, 3u);
                             cancel(t);
                         }),
                     cancelled);
    });
}

TEST_P(allocation_leak_on_abort_test, frees_allocations_after_an_exception) {
    repeat([&] {
        EXPECT_THROW(run(unwinding(),
                         [](tx& t) {
                             auto* const p = create<thing>(t, 1);
                             auto* const a = create<aligned_thing>(t, p->value);
                             EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 256, 0u);
                             throw refusal{};
                         }),
                     refusal);
    });
}

TEST_P(allocation_leak_on_abort_test, frees_allocations_after_a_throwing_constructor) {
    repeat([&] {
        var<long> v{0};
        run(unwinding(), [&](tx& t) {
            (void)try_atomically([&](tx& c) {
                v.set(c, 1);
                try {
                    (void)create<difficult>(c);
                } catch (const refusal&) {
                    cancel(c);
                }
            });
            v.set(t, v.get(t) + 2);
        });
        EXPECT_EQ(v.load(), 2);
    });
}

TEST_P(allocation_leak_on_abort_test, frees_allocations_of_nested_blocks) {
    repeat([&] {
        var<thing*> kept{nullptr};
        run(unwinding(), [&](tx& t) {
            kept.set(t, create<thing>(t, 1));
            (void)try_atomically([&](tx& c) {
                (void)create<thing>(c, 2);
                atomically([&](tx& d) { (void)create<thing>(d, 3); });
                destroy(c, kept.get(c));
                cancel(c);
            });
        });
        EXPECT_EQ(kept.load()->value, 1);
        delete kept.load();
    });
}

TEST_P(allocation_leak_on_abort_test, frees_values_behind_nodes) {
    var<thing> behind{thing{1}};
    repeat([&] {
        EXPECT_THROW(run(unwinding(),
                         [&](tx& t) {
                             behind.set(t, thing{2});
                             (void)try_atomically([&](tx& c) {
                                 behind.set(c, thing{3});
                                 behind.set(c, thing{4});
                                 cancel(c);
                             });
                             behind.set(t, thing{5});
                             EXPECT_EQ(behind.get(t).value, 5);
                             throw refusal{};
                         }),
                     refusal);
        EXPECT_EQ(behind.load().value, 1);
    });
}

TEST_P(allocation_leak_on_abort_test, frees_allocations_after_a_participant_veto) {
    veto no;
    repeat([&] {
        EXPECT_THROW(run(unwinding(),
                         [&](tx& t) {
                             (void)create<thing>(t, 1);
                             t.join(no);
                         }),
                     cancelled);
        EXPECT_THROW(run(unwinding(),
                         [&](tx& t) {
                             (void)create<thing>(t, 1);
                             t.before_commit([](tx& last) {
                                 (void)create<thing>(last, 2);
                                 throw refusal{};
                             });
                         }),
                     refusal);
    });
}

TUTTI_IN_EVERY_FLAVOUR(allocation_leak_on_abort_test);

class allocation_leak_on_restart_test : public allocation_leak_on_abort_test {};

TEST_P(allocation_leak_on_restart_test, frees_allocations_after_a_restart) {
    repeat([&] {
        unsigned runs = 0;
        EXPECT_THROW(run(GetParam(),
                         [&](tx& t) {
                             (void)create<thing>(t, 1);
                             if (++runs < 3) restart(t);
                             cancel(t);
                         }),
                     cancelled);
    });
}

TEST_P(allocation_leak_on_restart_test, frees_allocations_after_retry_in_an_alternative) {
    var<int> v{0};
    repeat([&] {
        const int chosen = run(unwinding(), [&](tx& t) {
            return or_else(
                t,
                [&](tx& first) -> int {
                    (void)create<thing>(first, v.get(first));
                    retry(first);
                },
                [](tx&) { return 2; });
        });
        EXPECT_EQ(chosen, 2);
    });
}

TUTTI_IN_REVOCABLE_FLAVOURS(allocation_leak_on_restart_test);

// Conflicts abort at arbitrary points. Each committed attempt makes one object and destroys one.
TEST(allocation_leak_test, frees_allocations_under_contention) {
    support::watchdog guard{"allocation_leak.under_contention"};
    // Many more than the number of pending objects in a correct engine.
    const std::size_t each = std::max<std::size_t>(rounds(600), 600);
    std::array<var<thing*>, 2> slots{};
    for (auto& s : slots) s.store(new thing{0});
    const std::int64_t blocks = support::live_blocks;
    run_threads(4, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            atomically([&](tx& t) {
                var<thing*>& slot = slots[(i + me) % slots.size()];
                thing* const old = slot.get(t);
                slot.set(t, create<thing>(t, old->value + 1));
                destroy(t, old);
            });
        }
    });
    long sum = 0;
    for (auto& s : slots) sum += s.load()->value;
    EXPECT_EQ(sum, static_cast<long>(4 * each));
    // Later collections take over the objects that those threads could not destroy, here the collections of this
    // thread. No other thread runs, so at most two of its own batches remain.
    constexpr std::size_t batch = 256;
    for (std::size_t i = 0; i < 4 * batch; ++i) {
        atomically([&](tx& t) { destroy(t, create<thing>(t, 0)); });
    }
    EXPECT_LE(support::live_blocks - blocks, static_cast<std::int64_t>(2 * batch + 16));
    for (auto& s : slots) delete s.load();
}

// The allocation fails at every point in turn. Each failure leaves the block as the exception bad_alloc, and the block
// has no effect.
TEST(allocation_leak_test, survives_exhausted_memory) {
    var<std::string> text{"before"};
    var<long> number{0};
    var<thing*> kept{nullptr};
    const std::string longer(100, 'x');
    bool committed = false;
    unsigned failures = 0;
    for (std::uint64_t point = 1; !committed; ++point) {
        ASSERT_LT(point, 1000u);
        const long objects = made - ended;
        try {
            support::refuse_after = point;
            atomically([&](tx& t) {
                number.set(t, 1);
                kept.set(t, create<thing>(t, 1));
                text.set(t, longer);
                t.on_commit([] {});
                std::vector<char> own(1000);
                number.set(t, 2);
                if (point % 2 == 0) cancel(t);
            });
            committed = true;
        } catch (const std::bad_alloc&) {
            ++failures;
        } catch (const cancelled&) {}
        support::refuse_after = 0;
        if (committed) break;
        EXPECT_EQ(made - ended, objects) << "at allocation " << point;
        EXPECT_EQ(number.load(), 0) << "at allocation " << point;
        EXPECT_EQ(text.load(), "before") << "at allocation " << point;
    }
    EXPECT_EQ(number.load(), 2);
    EXPECT_EQ(text.load(), longer);
    EXPECT_GE(failures, 3u);
    delete kept.load();
}

}  // namespace
}  // namespace tutti::anomalies
