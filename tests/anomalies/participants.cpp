// A participant and the engine disagree: one commits and the other has rolled back.
//
// Catches a vote before the engine's own prepare, because an abort could still follow a yes. Catches a participant that
// is not told of the abort after its prepare, or told twice, and a veto that leaves orecs owned.
#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

struct no_answer {};

/// Records the calls that it gets, and answers as configured.
class witness final : public participant {
public:
    explicit witness(std::string& trace, char name) : trace_{trace}, name_{name} {}

    vote answer = vote::commit;
    bool throws = false;
    bool tells_of_roll_backs = false;
    bool wakes = true;
    unsigned times_asked_to_wake = 0;

private:
    vote prepare() override {
        trace_ += {'p', name_};
        if (throws) throw no_answer{};
        return std::exchange(answer, answer == vote::restart ? vote::commit : answer);
    }
    void commit() noexcept override { trace_ += {'c', name_}; }
    void abort() noexcept override { trace_ += {'a', name_}; }
    bool on_retry() override {
        ++times_asked_to_wake;
        return wakes;
    }
    void on_rollback() noexcept override {
        if (tells_of_roll_backs) trace_ += {'r', name_};
    }

    std::string& trace_;
    char name_;
};

class participants_test : public suite_of_flavours {
protected:
    std::string trace_;
    witness first_{trace_, '1'}, second_{trace_, '2'}, third_{trace_, '3'};
    var<int> data_{0};

    void commit_with_all() {
        run(unwinding(), [&](tx& t) {
            t.at_commit([&] { trace_ += "at"; });
            t.join(first_);
            t.join(second_);
            t.join(third_);
            data_.set(t, data_.get(t) + 1);
        });
    }
};

TEST_P(participants_test, commit_if_all_agree) {
    commit_with_all();
    EXPECT_EQ(trace_.substr(0, 6), "p1p2p3");
    // Both kinds of effect come after the decision, in either order.
    EXPECT_NE(trace_.find("c1c2c3"), std::string::npos);
    EXPECT_NE(trace_.find("at"), std::string::npos);
    EXPECT_EQ(trace_.find('a', 0), trace_.find("at"));
    EXPECT_EQ(data_.load(), 1);
}

TEST_P(participants_test, abort_if_one_vetoes) {
    second_.answer = vote::cancel;
    EXPECT_THROW(commit_with_all(), cancelled);
    EXPECT_EQ(data_.load(), 0);
    EXPECT_EQ(trace_.substr(0, 4), "p1p2");
    EXPECT_NE(trace_.find("a1"), std::string::npos);
    EXPECT_NE(trace_.find("a2"), std::string::npos);
    EXPECT_EQ(trace_.find('3'), std::string::npos) << "the third was never asked";
    EXPECT_EQ(trace_.find('c'), std::string::npos);
    EXPECT_EQ(trace_.size(), 8u);
}

TEST_P(participants_test, abort_if_one_throws) {
    third_.throws = true;
    EXPECT_THROW(commit_with_all(), no_answer);
    EXPECT_EQ(data_.load(), 0);
    EXPECT_EQ(trace_.substr(0, 6), "p1p2p3");
    for (const char* name : {"a1", "a2", "a3"}) EXPECT_NE(trace_.find(name), std::string::npos) << trace_;
    EXPECT_EQ(trace_.size(), 12u);
    third_.throws = false;
    commit_with_all();  // nothing is still owned
    EXPECT_EQ(data_.load(), 1);
}

// A single participant without other deferred actions takes a shorter path (core/lifecycle/transaction.hpp).
TEST_P(participants_test, may_be_alone) {
    const auto commit_with_it = [&] {
        run(unwinding(), [&](tx& t) {
            t.join(first_);
            data_.set(t, data_.get(t) + 1);
        });
    };
    first_.tells_of_roll_backs = true;
    commit_with_it();
    EXPECT_EQ(std::exchange(trace_, ""), "p1c1");
    EXPECT_EQ(data_.load(), 1);
    first_.answer = vote::cancel;
    EXPECT_THROW(commit_with_it(), cancelled);
    EXPECT_EQ(std::exchange(trace_, ""), "p1a1r1");
    first_.answer = vote::commit;
    first_.throws = true;
    EXPECT_THROW(commit_with_it(), no_answer);
    EXPECT_EQ(std::exchange(trace_, ""), "p1a1r1");
    EXPECT_EQ(data_.load(), 1);
    first_.throws = false;
    commit_with_it();  // nothing is still owned, and the earlier votes have left nothing behind
    EXPECT_EQ(std::exchange(trace_, ""), "p1c1");
    EXPECT_EQ(data_.load(), 2);
    run(unwinding(), [&](tx& t) {
        t.join(first_);
        EXPECT_EQ(data_.get(t), 2);
    });
    EXPECT_EQ(trace_, "p1c1");
}

// A block with many participants and many alternatives must not ask each participant at each retry. Also catches a
// refusal when no block waits.
TEST_P(participants_test, are_asked_to_wake_by_a_waiting_retry) {
    if (GetParam().mode == mode::irrevocable) GTEST_SKIP() << "must not retry";
    first_.wakes = false;
    const auto join_and_retry = [&](tx& t) {
        t.join(second_);
        atomically([&](tx& n) {
            n.join(third_);
            retry(n);
        });
    };
    run(unwinding(), [&](tx& t) {
        t.join(first_);
        for (int i = 0; i < 10; ++i) or_else(t, join_and_retry, [](tx&) {});
        EXPECT_EQ(first_.times_asked_to_wake, 0U);
        EXPECT_EQ(second_.times_asked_to_wake, 10U);
        EXPECT_EQ(third_.times_asked_to_wake, 10U);
    });
    trace_.clear();
    const auto wait_after_an_alternative = [&](tx& t) {
        t.join(first_);
        static_cast<void>(data_.get(t));
        or_else(t, join_and_retry, [](tx& n) { retry(n); });
    };
    EXPECT_THROW(run(unwinding(), wait_after_an_alternative), usage_error);
    EXPECT_EQ(first_.times_asked_to_wake, 1U);
}

TEST_P(participants_test, are_notified_of_an_early_cancel) {
    EXPECT_THROW(run(unwinding(),
                     [&](tx& t) {
                         t.join(first_);
                         cancel(t);
                     }),
                 cancelled);
    EXPECT_EQ(trace_, "");
}

TEST_P(participants_test, learn_of_roll_backs_in_handler_order) {
    first_.tells_of_roll_backs = second_.tells_of_roll_backs = true;
    EXPECT_THROW(run(unwinding(),
                     [&](tx& t) {
                         t.on_abort([&] { trace_ += "h1"; });
                         t.join(first_);
                         t.on_abort([&] { trace_ += "h2"; });
                         EXPECT_FALSE(try_atomically([&](tx& u) {
                             u.join(second_);
                             u.on_abort([&] { trace_ += "h3"; });
                             cancel(u);
                         }));
                         trace_ += ' ';
                         cancel(t);
                     }),
                 cancelled);
    EXPECT_EQ(trace_, "h3r2 h2r1h1");
    commit_with_all();
    EXPECT_EQ(trace_.find('r', 12), std::string::npos) << trace_;
}

TUTTI_IN_EVERY_FLAVOUR(participants_test);

class restarting_participants_test : public participants_test {};

TEST_P(restarting_participants_test, abort_the_first_attempt_and_commit_the_second) {
    second_.answer = vote::restart;
    std::vector<abort_cause> causes;
    run(unwinding(), [&](tx& t) {
        causes.push_back(t.last_abort());
        t.join(first_);
        t.join(second_);
        data_.set(t, data_.get(t) + 1);
    });
    EXPECT_EQ(data_.load(), 1);
    EXPECT_EQ(causes, (std::vector{abort_cause::none, abort_cause::participant_veto}));
    EXPECT_EQ(trace_.substr(trace_.size() - 8), "p1p2c1c2");
    EXPECT_EQ(trace_.size(), 16u);
}

TEST_P(restarting_participants_test, may_be_alone) {
    first_.answer = vote::restart;
    std::vector<abort_cause> causes;
    run(unwinding(), [&](tx& t) {
        causes.push_back(t.last_abort());
        t.join(first_);
        data_.set(t, data_.get(t) + 1);
    });
    EXPECT_EQ(data_.load(), 1);
    EXPECT_EQ(causes, (std::vector{abort_cause::none, abort_cause::participant_veto}));
    EXPECT_EQ(trace_, "p1a1p1c1");
}

TUTTI_IN_REVOCABLE_FLAVOURS(restarting_participants_test);

// When the participants are asked, the engine can no longer refuse. Under contention, every prepared commit happens in
// the order of the data, and nothing comes between prepare and commit.
TEST(participants_under_contention_test, commit_in_the_order_of_the_data) {
    support::watchdog guard{"participants_under_contention_test"};
    struct recorder final : participant {
        std::atomic<int>* busy = nullptr;
        std::vector<long>* entries = nullptr;
        violations* wrong = nullptr;
        long entry = 0;
        long prepared = 0, committed = 0, aborted = 0;
        vote prepare() override {
            ++prepared;
            wrong->expect(busy->fetch_add(1) == 0);
            return vote::commit;
        }
        void commit() noexcept override {
            ++committed;
            entries->push_back(entry);
            busy->fetch_sub(1);
        }
        void abort() noexcept override { ++aborted; }
    };
    const std::size_t each = rounds(400);
    var<long> next{0};
    std::atomic<int> busy{0};
    std::vector<long> entries;
    entries.reserve(4 * each);
    violations wrong;
    run_threads(4, [&](unsigned) {
        recorder mine;
        mine.busy = &busy;
        mine.entries = &entries;
        mine.wrong = &wrong;
        for (std::size_t i = 0; i < each; ++i) {
            atomically([&](tx& t) {
                mine.entry = next.get(t);
                next.set(t, mine.entry + 1);
                t.join(mine);
            });
        }
        wrong.expect(mine.aborted == 0 && mine.prepared == mine.committed && mine.committed == static_cast<long>(each));
    });
    EXPECT_EQ(wrong.count(), 0);
    ASSERT_EQ(entries.size(), 4 * each);
    for (std::size_t i = 0; i < entries.size(); ++i) ASSERT_EQ(entries[i], static_cast<long>(i));
}

// Catches a snapshot that is extended while a participant still shows data of the earlier one.
TEST(data_participants_test, are_notified_when_the_snapshot_moves) {
    if (!concurrent()) GTEST_SKIP() << "no other transaction commits beside a running one";
    struct shower final : participant {
        int told = 0, refuse = 0;
        bool on_snapshot_extended() override { return ++told > refuse; }
        vote prepare() override { return vote::commit; }
        void commit() noexcept override {}
        void abort() noexcept override {}
    } one;
    var<int> first{0}, second{0};
    int runs = 0;
    const auto body = [&](tx& t) {
        ++runs;
        t.join(one);
        (void)first.get(t);
        if (runs <= 2) std::thread{[&] { atomically([&](tx& u) { second.set(u, second.get(u) + 1); }); }}.join();
        (void)second.get(t);
    };
    atomically(body);
    EXPECT_EQ(runs, 1);
    EXPECT_GE(one.told, 1);
    one.told = 0;
    one.refuse = 1;
    runs = 0;
    atomically(body);
    EXPECT_EQ(runs, 2);
}

// Catches a reader that waits for an unpublished commit because it might have received private memory.
TEST(asking_participants_test, may_wait_for_a_thread_that_runs_transactions) {
    if (!concurrent() || commits_one_by_one()) GTEST_SKIP() << "no transaction reads between prepare and commit";
    support::watchdog guard{"asking_participants_test"};
    struct questioner final : participant {
        std::atomic<int> asked{0}, answered{0};
        vote prepare() override {
            ++asked;
            while (answered.load() < asked.load()) std::this_thread::yield();
            return vote::commit;
        }
        void commit() noexcept override {}
        void abort() noexcept override {}
    } one;
    const int questions = static_cast<int>(rounds(50));
    int plain = 0;
    var<int> written{0}, read{0};
    atomically([&](tx& t) { store(t, &plain, 1); });  // with memory that can be made private
    run_threads(2, [&](unsigned me) {
        for (int i = 1; i <= questions; ++i) {
            if (me == 0) {
                atomically([&](tx& t) {
                    written.set(t, i);
                    t.join(one);
                });
            } else {
                while (one.asked.load() < i) std::this_thread::yield();
                atomically([&](tx& t) { return read.get(t); });
                ++one.answered;
            }
        }
    });
    EXPECT_EQ(written.load(), questions);
}

}  // namespace
}  // namespace tutti::anomalies
