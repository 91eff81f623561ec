// The guarantees of open nesting. Catches an effect that survives the roll-back of the block around it. Catches an undo
// that runs twice, not at all, or in the wrong order. Catches two holders of one abstract lock, and a cycle of holders
// that never ends.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

struct failure {};

class open_nesting_test : public suite {
protected:
    var<long> shared_{0}, own_{0};

    /// Adds `n` to `to` in an open nested block; the undo subtracts `n`.
    static void add(tx& t, var<long>& to, long n) {
        open_nested(
            t, {{&to}}, [&](tx& i) { to.set(i, to.get(i) + n); }, [&to, n](tx& u) { to.set(u, to.get(u) - n); });
    }
};

TEST_F(open_nesting_test, commits_at_once_and_returns_the_result) {
    atomically([&](tx& t) {
        const long seen = open_nested(
            t, [&](tx& i) { return shared_.get(i) + 1; }, [](tx&, long) { FAIL() << "undone although it committed"; });
        EXPECT_EQ(seen, 1);
        own_.set(t, seen);
    });
    EXPECT_EQ(own_.load(), 1);
}

TEST_F(open_nesting_test, supports_results_and_undos_that_only_move) {
    bool restarted = false;
    std::unique_ptr<long> got;
    atomically([&](tx& t) {
        auto added = std::make_unique<long>(5);
        got = open_nested(
            t,
            [&](tx& i) {
                shared_.set(i, shared_.get(i) + 5);
                return std::make_unique<long>(shared_.get(i));
            },
            [this, added = std::move(added)](tx& u) { shared_.set(u, shared_.get(u) - *added); });
        if (!std::exchange(restarted, true)) restart(t);
    });
    EXPECT_EQ(*got, 5);
    EXPECT_EQ(shared_.load(), 5);
}

TEST_F(open_nesting_test, is_undone_with_the_block_around_it) {
    EXPECT_THROW(atomically([&](tx& t) {
                     add(t, shared_, 5);
                     own_.set(t, 1);
                     throw failure{};
                 }),
                 failure);
    EXPECT_EQ(shared_.load(), 0);
    EXPECT_EQ(own_.load(), 0);
}

TEST_F(open_nesting_test, is_undone_with_a_nested_block) {
    atomically([&](tx& t) {
        add(t, shared_, 1);
        EXPECT_FALSE(try_atomically([&](tx& n) {
            add(n, shared_, 10);
            cancel(n);
        }));
        add(t, shared_, 100);
    });
    EXPECT_EQ(shared_.load(), 101);
}

TEST_F(open_nesting_test, is_undone_newest_first) {
    if (one_at_a_time()) GTEST_SKIP() << "the body is a closed nested block here, and needs no undo";
    std::vector<int> order;
    EXPECT_THROW(atomically([&](tx& t) {
                     for (int i = 0; i < 4; ++i) {
                         open_nested(t, [](tx&) {}, [&order, i](tx&) { order.push_back(i); });
                     }
                     throw failure{};
                 }),
                 failure);
    EXPECT_EQ(order, (std::vector<int>{3, 2, 1, 0}));
}

TEST_F(open_nesting_test, does_not_undo_a_body_that_fails) {
    EXPECT_THROW(atomically([&](tx& t) {
                     open_nested(
                         t,
                         [&](tx& i) {
                             shared_.set(i, 9);
                             throw failure{};
                         },
                         [](tx&) { FAIL() << "undone although it never committed"; });
                 }),
                 failure);
    EXPECT_EQ(shared_.load(), 0);
}

TEST_F(open_nesting_test, undoes_a_body_whose_handler_throws) {
    if (one_at_a_time()) GTEST_SKIP() << "the body is a closed nested block here, and needs no undo";
    EXPECT_THROW(atomically([&](tx& t) {
                     try {
                         open_nested(
                             t,
                             [&](tx& i) {
                                 i.on_commit([] { throw std::string{"after the commit"}; });
                                 shared_.set(i, 1);
                             },
                             [&](tx& u) { shared_.set(u, shared_.get(u) - 1); });
                     } catch (const std::string&) {
                         throw failure{};
                     }
                 }),
                 failure);
    EXPECT_EQ(shared_.load(), 0);
}

TEST_F(open_nesting_test, undoes_every_attempt_before_the_next) {
    int attempts = 0;
    atomically([&](tx& t) {
        ++attempts;
        add(t, shared_, 1);
        if (t.attempt() < 4) restart(t);
    });
    EXPECT_EQ(shared_.load(), 1);
    EXPECT_EQ(attempts, 4);
}

TEST_F(open_nesting_test, nests_in_itself) {
    atomically([&](tx& t) {
        open_nested(
            t,
            [&](tx& i) {
                add(i, shared_, 1);
                own_.set(i, own_.get(i) + 1);
            },
            [](tx&) {});
    });
    EXPECT_EQ(shared_.load(), 1);
    EXPECT_EQ(own_.load(), 1);
}

TEST_F(open_nesting_test, is_closed_in_an_irrevocable_block) {
    EXPECT_THROW(atomically({.mode = mode::irrevocable},
                            [&](tx& t) {
                                add(t, shared_, 1);
                                throw failure{};
                            }),
                 failure);
    EXPECT_EQ(shared_.load(), 0);
}

// Catches a commit that treats a conflict with the block around it like any other conflict, although neither side can
// wait for the other.
TEST_F(open_nesting_test, works_in_a_visible_block) {
    EXPECT_THROW(atomically({.mode = mode::visible},
                            [&](tx& t) {
                                own_.set(t, own_.get(t) + 1);
                                add(t, shared_, 1);
                                EXPECT_FALSE(try_atomically([&](tx& n) {
                                    add(n, shared_, 10);
                                    cancel(n);
                                }));
                                EXPECT_EQ(own_.get(t), 1);
                                throw failure{};
                            }),
                 failure);
    EXPECT_EQ(shared_.load(), 0);
    EXPECT_EQ(own_.load(), 0);
    atomically({.mode = mode::visible}, [&](tx& t) { add(t, shared_, 100); });
    EXPECT_EQ(shared_.load(), 100);
}

TEST_F(open_nesting_test, works_in_a_block_made_visible_by_deadline) {
    deadline_outcome outcome;
    atomically({.deadline = std::chrono::nanoseconds{1}, .outcome = &outcome}, [&](tx& t) {
        add(t, shared_, 1);
        if (t.attempt() == 1) restart(t);
    });
    EXPECT_EQ(shared_.load(), 1);
    EXPECT_EQ(outcome.mode, mode::visible);
}

// The undo gets no slot, because the block around the undo has the slot.
TEST_F(open_nesting_test, is_undone_after_the_block_became_irrevocable) {
    int effects = 0;
    atomically([&](tx& t) {
        const long before = own_.get(t);
        EXPECT_FALSE(try_atomically([&](tx& n) {
            add(n, shared_, 10);
            n.become_irrevocable("an effect");
            ++effects;
            cancel(n);
        }));
        EXPECT_EQ(own_.get(t), before);
        own_.set(t, before + 1);
    });
    EXPECT_EQ(effects, 1);
    EXPECT_EQ(shared_.load(), 0);
    EXPECT_EQ(own_.load(), 1);
}

// Catches a second step that becomes a closed block because of a request after the first step. A closed block owns data
// that the first step's undo needs.
TEST_F(open_nesting_test, is_undone_after_irrevocability_between_two_steps) {
    int effects = 0;
    atomically([&](tx& t) {
        EXPECT_FALSE(try_atomically([&](tx& n) {
            add(n, shared_, 1);
            n.become_irrevocable("an effect");
            ++effects;
            add(n, shared_, 10);
            cancel(n);
        }));
        own_.set(t, 1);
    });
    EXPECT_EQ(effects, 1);
    EXPECT_EQ(shared_.load(), 0);
    EXPECT_EQ(own_.load(), 1);
}

// A deadline does not close a step: other threads see its effect immediately, and its undo runs.
TEST_F(open_nesting_test, stays_open_in_a_late_block) {
    if (one_at_a_time()) GTEST_SKIP() << "the body is a closed nested block here";
    int undone = 0;
    EXPECT_THROW(atomically({.deadline = std::chrono::nanoseconds{1}, .when_missed = missed_deadline::run_irrevocable},
                            [&](tx& t) {
                                open_nested(
                                    t, [&](tx& i) { shared_.set(i, 1); },
                                    [&](tx& u) {
                                        shared_.set(u, 0);
                                        ++undone;
                                    });
                                std::thread{[&] { EXPECT_EQ(shared_.load(), 1); }}.join();
                                throw failure{};
                            }),
                 failure);
    EXPECT_EQ(undone, 1);
    EXPECT_EQ(shared_.load(), 0);
}

TEST_F(open_nesting_test, restarts_or_diagnoses_visible_blocks_with_overwritten_reads) {
    if (!concurrent()) GTEST_SKIP() << "the body is a closed nested block here";
    int attempts = 0;
    const auto block = [&] {
        atomically({.mode = mode::visible}, [&](tx& t) {
            const long seen = shared_.get(t);
            if (++attempts == 1) add(t, shared_, 1);
            own_.set(t, seen + 1);
        });
    };
    if (commits_one_by_one()) {
        block();
        EXPECT_EQ(attempts, 2);
        EXPECT_EQ(own_.load(), 1);
    } else {
        EXPECT_THROW(block(), usage_error);  // the open nested block conflicts with the mark
    }
    EXPECT_EQ(shared_.load(), 0);
}

// The reads of an irrevocable block stay valid. Catches such a block that has to start over after all.
TEST_F(open_nesting_test, diagnoses_an_overwritten_read_of_an_irrevocable_block) {
    if (!concurrent()) GTEST_SKIP() << "the body is a closed nested block here";
    const auto while_irrevocable = [&](auto body) {
        atomically([&](tx& t) {
            EXPECT_EQ(shared_.get(t), 0);
            // Switches in the middle of the open nested body. If the body began after the switch, it would be a closed
            // block.
            open_nested(
                t,
                [&](tx& i) {
                    t.become_irrevocable("an effect");
                    body(i);
                },
                [](tx&) {});
            EXPECT_EQ(shared_.get(t), 0);
            own_.set(t, own_.get(t) + 1);
        });
    };
    var<long> unread{0};
    EXPECT_THROW(while_irrevocable([&](tx& i) { shared_.set(i, 1); }), usage_error);
    EXPECT_EQ(own_.load(), 0);
    while_irrevocable([&](tx& i) { unread.set(i, 1); });
    EXPECT_EQ(own_.load(), 1);
    EXPECT_EQ(unread.load(), 1);
}

TEST_F(open_nesting_test, works_in_blocks_that_jump) {
    std::atomic<int> undone{0};
    atomically(no_unwind, [&](tx& t) {
        open_nested(
            t, [&](tx& i) { shared_.set(i, shared_.get(i) + 1); },
            [&](tx& u) {
                shared_.set(u, shared_.get(u) - 1);
                ++undone;
            });
        if (t.attempt() < 3) restart(t);
    });
    EXPECT_EQ(shared_.load(), 1);
    EXPECT_EQ(undone.load(), one_at_a_time() ? 0 : 2);
}

TEST_F(open_nesting_test, diagnoses_access_to_writes_of_the_outer_block) {
    if (algorithm() != "wb-etl" && algorithm() != "wt-etl")
        GTEST_SKIP() << "not noticed: nothing is owned before commit";
    EXPECT_THROW(atomically([&](tx& t) {
                     own_.set(t, 1);
                     open_nested(t, [&](tx& i) { own_.set(i, 2); }, [](tx&) {});
                 }),
                 usage_error);
    EXPECT_EQ(own_.load(), 0);
}

// Money moves between accounts in open nested steps that do not commute: one reads the balance, another stores it. Some
// transfers fail in between, and the locks are taken in any order.
TEST_F(open_nesting_test, separates_operations_by_abstract_locks) {
    constexpr unsigned accounts = 6;
    std::vector<std::unique_ptr<var<long>>> balance;
    for (unsigned i = 0; i < accounts; ++i) balance.push_back(std::make_unique<var<long>>(100));
    const auto change = [&](tx& t, unsigned account, long n) {
        var<long>& b = *balance[account];
        acquire(t, {&balance, account});
        const long before = open_nested(t, [&](tx& i) { return b.get(i); }, [](tx&) {});
        open_nested(t, [&](tx& i) { b.set(i, before + n); }, [&b, before](tx& u) { b.set(u, before); });
    };
    const std::size_t each = rounds(30000);
    const support::watchdog dog{test_name()};
    run_threads(6, [&](unsigned me) {
        unsigned dice = me * 2654435761U + 1;
        for (std::size_t n = 0; n < each; ++n) {
            dice = dice * 1664525U + 1013904223U;
            const unsigned from = (dice >> 8) % accounts, to = (dice >> 16) % accounts;
            if (from == to) continue;
            try {
                atomically([&](tx& t) {
                    change(t, from, -1);
                    change(t, to, 1);
                    if ((dice >> 24) % 16 == 0) throw failure{};
                });
            } catch (const failure&) {}
        }
    });
    long total = 0;
    for (const auto& b : balance) total += b->load();
    EXPECT_EQ(total, 100 * accounts);
}

TEST_F(open_nesting_test, gives_irrevocable_blocks_their_lock_without_restart) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    const support::watchdog dog{test_name()};
    std::atomic<bool> held{false}, over{false};
    int effects = 0;
    std::thread holder{[&] {
        atomically([&](tx& t) {
            acquire(t, {&shared_, 1});
            held = true;
            while (t.attempt() == 1 && !over.load()) static_cast<void>(shared_.get(t));  // until it is killed
        });
    }};
    while (!held.load()) std::this_thread::yield();
    atomically([&](tx& t) {
        t.become_irrevocable("an effect");
        ++effects;
        acquire(t, {&shared_, 1});
    });
    over = true;
    holder.join();
    EXPECT_EQ(effects, 1);
}

// Catches an unbounded wait. Transactions that can start over do so, and release the locks that the undo needs.
TEST_F(open_nesting_test, diagnoses_a_lock_awaiting_its_own_block) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    const support::watchdog dog{test_name()};
    std::atomic<bool> held{false}, over{false};
    std::thread holder{[&] {
        atomically([&](tx& t) {
            acquire(t, {&shared_, 1});
            add(t, own_, 1);
            held = true;
            while (t.attempt() == 1 && !over.load()) static_cast<void>(shared_.get(t));  // until it is killed
        });
    }};
    while (!held.load()) std::this_thread::yield();
    EXPECT_THROW(atomically([&](tx& t) {
                     t.become_irrevocable("an effect");
                     own_.set(t, own_.get(t) + 100);
                     acquire(t, {&shared_, 1});
                 }),
                 usage_error);
    over = true;
    holder.join();
    EXPECT_EQ(own_.load(), 1);
}

/// A block that holds an abstract lock and is rolled back. Its on_abort handler runs an irrevocable block.
class irrevocable_in_its_handler {
public:
    /// Runs `at_handler` in the handler's block.
    template <class F>
    irrevocable_in_its_handler(const abstract_lock& lock, F at_handler)
        : thread_{[this, lock, at_handler] {
              atomically([&](tx& t) {
                  if (t.attempt() != 1) return;
                  acquire(t, lock);
                  t.on_abort([this, at_handler] {
                      in_handler_ = true;
                      atomically({.mode = mode::irrevocable}, [&](tx&) { at_handler(); });
                  });
                  held_ = true;
                  held_.notify_one();
                  ends_.wait(false);
                  restart(t);
              });
          }} {
        held_.wait(false);
    }
    irrevocable_in_its_handler(const irrevocable_in_its_handler&) = delete;
    irrevocable_in_its_handler& operator=(const irrevocable_in_its_handler&) = delete;
    ~irrevocable_in_its_handler() { thread_.join(); }

    /// Makes the block roll back. The irrevocable transaction calls this, and the handler's block waits beside it.
    void roll_back() {
        ends_ = true;
        ends_.notify_one();
        while (!in_handler_.load()) std::this_thread::yield();
    }

private:
    std::atomic<bool> held_{false}, ends_{false}, in_handler_{false};
    std::thread thread_;
};

// The holder keeps its lock until its handlers have run, so the holder and the irrevocable transaction wait for each
// other.
TEST_F(open_nesting_test, diagnoses_a_lock_holder_awaiting_the_slot) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    std::string said;
    bool has_run = false;
    {
        irrevocable_in_its_handler holder{{&shared_, 1}, [&] { has_run = true; }};
        try {
            atomically({.mode = mode::irrevocable}, [&](tx& t) {
                holder.roll_back();
                acquire(t, {&shared_, 1});
            });
        } catch (const usage_error& e) {
            said = e.what();
        }
    }
    EXPECT_NE(said.find("on_abort handler"), std::string::npos) << said;
    EXPECT_TRUE(has_run);
}

// The block is irrevocable only because of its deadline, so it can start over, and lets the handler's block run first.
TEST_F(open_nesting_test, lets_a_handler_of_the_holder_become_irrevocable) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    std::atomic<int> attempts{0};
    int attempts_before_handler = 0;
    {
        irrevocable_in_its_handler holder{{&shared_, 1}, [&] { attempts_before_handler = attempts.load(); }};
        atomically({.deadline = std::chrono::nanoseconds{1}, .when_missed = missed_deadline::run_irrevocable},
                   [&](tx& t) {
                       if (++attempts == 1) holder.roll_back();
                       acquire(t, {&shared_, 1});
                   });
    }
    // The test allows one more attempt, because the system may suspend the handler's thread before the handler's block
    // begins.
    EXPECT_LE(attempts_before_handler, 2);
}

// Two blocks share a lock. The older one waits for exclusive ownership. A third, younger block must not share the lock
// meanwhile.
TEST_F(open_nesting_test, keeps_younger_sharers_out_of_a_claimed_lock) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    const support::watchdog dog{test_name()};
    std::atomic<int> stage{0};
    const auto await = [&stage](int at) {
        while (stage.load() < at) std::this_thread::yield();
    };
    bool was_kept_out = false;
    run_threads(3, [&](unsigned me) {
        if (me == 0) {
            atomically([&](tx& t) {
                acquire(t, {&own_, 1, true});
                if (stage == 0) stage = 1;
                await(2);
                acquire(t, {&own_, 1});
            });
        } else if (me == 1) {
            await(1);
            atomically([&](tx& t) {
                acquire(t, {&own_, 1, true});
                if (stage == 1) stage = 2;
                await(3);
            });
        } else {
            await(2);
            // Repeated, because the first block may still be about to wait.
            for (int i = 0; i < 20000 && !was_kept_out; ++i) {
                atomically([&](tx& t) {
                    if (t.attempt() == 2) {
                        was_kept_out = true;
                        stage = 3;
                    }
                    acquire(t, {&own_, 1, true});
                });
                std::this_thread::yield();
            }
            stage = 3;
        }
    });
    EXPECT_TRUE(was_kept_out);
}

// A visible block blocks an undo, and waits for a lock that is released only after the undo. The block is older, so it
// would otherwise keep waiting.
TEST_F(open_nesting_test, lets_an_undo_end_a_visible_waiter) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    const support::watchdog dog{test_name()};
    abort_cause cause = abort_cause::none;
    // If the system suspends the undo's thread for too long, the block reaches the limit of its wait and starts over
    // without being killed. In that case, the test repeats.
    for (int i = 0; i < 20 && cause != abort_cause::killed; ++i) {
        std::atomic<int> stage{0};
        const auto reach = [&stage](int at) {
            stage = at;
            stage.notify_all();
        };
        const auto await = [&stage](int at) {
            for (int now = stage; now < at; now = stage) stage.wait(now);
        };
        std::thread waiter{[&] {
            atomically([&](tx& t) {
                if (t.attempt() != 1) {
                    cause = t.last_abort();
                    return;
                }
                t.become_visible();
                acquire(t, {&own_, 2});  // this draws the block's age
                static_cast<void>(shared_.get(t));
                reach(1);
                await(2);
                acquire(t, {&own_, 1});
                // A killed reader without writes may commit, so it reads again and notices the kill.
                static_cast<void>(shared_.get(t));
            });
        }};
        atomically([&](tx& t) {
            if (t.attempt() != 1) return;
            await(1);
            open_nested(t, {{&own_, 1}}, [](tx&) {}, [this](tx& u) { shared_.set(u, shared_.get(u) + 1); });
            reach(2);
            restart(t);
        });
        waiter.join();
    }
    EXPECT_EQ(cause, abort_cause::killed);
}

// Catches, under AddressSanitizer, a jump that leaks memory that was prepared to hold the lock.
TEST_F(open_nesting_test, restarts_a_killed_waiter_for_a_lock) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    const support::watchdog dog{test_name()};
    std::atomic<bool> held{false}, waits{false}, over{false};
    std::thread holder{[&] {
        atomically([&](tx& t) {
            acquire(t, {&shared_, 1});
            held = true;
            while (!over.load()) std::this_thread::yield();
        });
    }};
    std::thread waiter{[&] {
        while (!held.load()) std::this_thread::yield();
        for (int i = 0; i < 20; ++i) {
            atomically(no_unwind, [&](tx& t) {
                if (over.load()) return;
                own_.set(t, 1);
                waits = true;
                acquire(t, {&shared_, 1});
            });
        }
    }};
    while (!waits.load()) std::this_thread::yield();
    for (std::size_t i = 0; i < rounds(200); ++i) {
        atomically({.mode = mode::irrevocable}, [&](tx& t) { own_.set(t, 2); });
    }
    over = true;
    holder.join();
    waiter.join();
    EXPECT_NE(own_.load(), 0);
}

// The undo of a nested block never waits for a transaction that waits for the block around it.
TEST_F(open_nesting_test, is_undone_while_an_irrevocable_block_waits) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    const support::watchdog dog{test_name()};
    std::atomic<bool> ready{false}, irrevocable{false};
    std::thread other{[&] {
        ready.wait(false);
        atomically({.mode = mode::irrevocable}, [&](tx& t) {
            irrevocable = true;
            irrevocable.notify_one();
            own_.set(t, own_.get(t) + 100);
        });
    }};
    atomically([&](tx& t) {
        own_.set(t, own_.get(t) + 1);
        EXPECT_FALSE(try_atomically([&](tx& n) {
            add(n, shared_, 10);
            ready = true;
            ready.notify_one();
            irrevocable.wait(false);
            cancel(n);
        }));
    });
    other.join();
    EXPECT_EQ(shared_.load(), 0);
    EXPECT_EQ(own_.load(), 101);
}

// One block holds an abstract lock, and its undo needs data of a second block, which needs the lock. Catches an undo
// that waits for the commit of the second block, which in turn waits for the first one.
TEST_F(open_nesting_test, lets_an_undo_pass_waiters_for_its_lock) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    const std::string before{policy_in_force()};
    for (const char* policy : {"serialize", "serialize-spin", "serialize-soft", "serialize-kernel"}) {
        const support::watchdog dog{test_name() + " under " + policy};
        use_policy(policy);
        std::atomic<bool> stepped{false}, owned{false}, undone{false};
        run_threads(2, [&](unsigned me) {
            if (me == 0) {
                atomically([&](tx& t) {
                    if (t.attempt() > 1) return;
                    open_nested(
                        t, {{&own_}}, [&](tx& i) { shared_.set(i, shared_.get(i) + 1); },
                        [&](tx& u) {
                            undone = true;
                            shared_.set(u, shared_.get(u) - 1);
                        });
                    stepped = true;
                    while (!owned.load()) std::this_thread::yield();
                    restart(t);
                });
            } else {
                while (!stepped.load()) std::this_thread::yield();
                atomically([&](tx& t) {
                    shared_.set(t, shared_.get(t) + 10);
                    owned = true;
                    while (!undone.load()) std::this_thread::yield();
                    acquire(t, {&own_});
                });
            }
        });
        EXPECT_EQ(shared_.load(), 10) << policy;
        shared_.store(0);
    }
    use_policy(before);
}

// Catches open nested blocks that wait for slots of the blocks around them.
TEST_F(open_nesting_test, supports_all_visible_slots_with_visible_blocks_inside) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    constexpr unsigned all = 11;
    std::array<var<long>, all> outside, inside;
    std::atomic<unsigned> begun{0};
    run_threads(all, [&](unsigned me) {
        atomically({.mode = mode::visible}, [&](tx& t) {
            static_cast<void>(outside[me].get(t));
            if (t.attempt() == 1) ++begun;
            while (begun.load() < all) std::this_thread::yield();
            open_nested(
                t,
                [&](tx& i) {
                    if (me % 2 == 0) i.become_visible();
                    atomically({.mode = mode::visible}, [&](tx& n) { inside[me].set(n, inside[me].get(n) + 1); });
                },
                [&, me](tx& u) { inside[me].set(u, inside[me].get(u) - 1); });
        });
    });
    for (const auto& v : inside) EXPECT_EQ(v.load(), 1);
}

// The block's own thread has the slot for which the second block would wait.
TEST_F(open_nesting_test, diagnoses_a_second_irrevocable_block_inside) {
    if (one_at_a_time()) GTEST_SKIP() << "the body is a closed nested block here";
    EXPECT_THROW(atomically([&](tx& t) {
                     open_nested(
                         t,
                         [&](tx& i) {
                             t.become_irrevocable("an effect");
                             i.become_irrevocable("another");
                         },
                         [](tx&) {});
                 }),
                 usage_error);
}

TEST_F(open_nesting_test, lets_sharers_of_an_abstract_lock_run_together) {
    if (!concurrent()) GTEST_SKIP() << "one transaction at a time";
    const support::watchdog dog{test_name()};
    std::atomic<int> holders{0};
    run_threads(2, [&](unsigned) {
        atomically([&](tx& t) {
            acquire(t, {&holders, 1, true});
            if (t.attempt() == 1) ++holders;
            while (holders.load() < 2) std::this_thread::yield();
        });
    });
}

}  // namespace
}  // namespace tutti::anomalies
