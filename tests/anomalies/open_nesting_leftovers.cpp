// An open nested transaction leaves objects to destroy, whose destructors need variables that the transaction around it
// owns.
//
// Catches an engine that destroys these objects at the end of the inner transaction. Catches a handler that waits for a
// pending duty of its own context.
#include <memory>
#include <thread>
#include <vector>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

struct ending {
    var<long>* of;
    ~ending() {
        atomically([this](tx& t) { of->set(t, of->get(t) - 1); });
    }
};

class open_nesting_leftovers_test : public suite {
protected:
    var<long> owned_{0}, inner_{0};
    /// Runs `body(tx&)` open-nested in a block that owns the variable which the destructors write.
    template <class F>
    void inside(F body) {
        atomically([&](tx& t) {
            const long mine = owned_.get(t) + 100;
            owned_.set(t, mine);
            open_nested(t, body, [](tx&) {});
            EXPECT_EQ(owned_.get(t), mine);
        });
    }
};

TEST_F(open_nesting_leftovers_test, include_data_of_handlers) {
    if (!concurrent()) GTEST_SKIP() << "nests closed";
    inside([&](tx& i) {
        i.on_abort([held = std::make_shared<ending>(&owned_)] {});
        i.at_commit([held = std::make_shared<ending>(&owned_)] {});
        inner_.set(i, 1);
    });
    EXPECT_EQ(owned_.load(), 98);
}

TEST_F(open_nesting_leftovers_test, include_objects_of_failed_attempts) {
    if (!concurrent()) GTEST_SKIP() << "nests closed";
    inside([&](tx& i) {
        (void)create<ending>(i, &owned_);
        i.on_commit([] {});
        if (i.attempt() == 1) restart(i);
    });
    EXPECT_EQ(owned_.load(), 99);
}

// Many more objects than the engine keeps before it destroys some.
TEST_F(open_nesting_leftovers_test, include_retired_objects) {
    if (!concurrent()) GTEST_SKIP() << "nests closed";
    constexpr long many = 1200;
    for (long i = 0; i < many; ++i) {
        inside([&](tx& t) {
            destroy(t, new ending{&owned_});
            inner_.set(t, 1);
        });
    }
    EXPECT_LT(owned_.load(), 100 * many);
}

// The inner commit defers its privatization wait until the locks are released. The handler's block defers one as
// a reader. That wait must skip the pending publication of its own context.
TEST_F(open_nesting_leftovers_test, do_not_let_a_context_wait_for_itself) {
    static long plain = 0;
    atomically([](tx& t) { store(t, &plain, 1L); });
    atomically([this](tx& t) {
        static int lock = 0;
        open_nested(
            t, {{&lock, 1}}, [this](tx& i) { inner_.set(i, inner_.get(i) + 1); },
            [this](tx& u) { inner_.set(u, inner_.get(u) - 1); });
        t.on_abort([] { EXPECT_FALSE(try_atomically([](tx& u) { cancel(u); })); });
        if (t.attempt() < 3) restart(t);
    });
    EXPECT_EQ(inner_.load(), 1);
}

// A block reads an object that it has made, and then writes it. Its read still validates.
TEST_F(open_nesting_leftovers_test, cause_no_conflict_for_a_new_written_object) {
    if (!concurrent()) GTEST_SKIP() << "nothing commits beside the block";
    struct thing {
        var<long> count{0};
    };
    const int most = algorithm() == "hytm" ? 9 : 1;  // eight attempts in hardware may fail, and one runs in software
    int attempts = 0;
    thing* made = nullptr;
    const auto use_one = [&](tx& t) {
        ++attempts;
        made = create<thing>(t);
        made->count.set(t, made->count.get(t) + 1);
        owned_.set(t, made->count.get(t));
    };
    atomically([&](tx& t) {
        use_one(t);
        open_nested(t, [this](tx& i) { inner_.set(i, 1); }, [](tx&) {});
    });
    EXPECT_LE(attempts, most);
    atomically([&](tx& t) { destroy(t, made); });
    attempts = 0;
    atomically([&](tx& t) {
        use_one(t);
        if (attempts == 1) std::thread{[this] { inner_.store(2); }}.join();
    });
    EXPECT_LE(attempts, most);
    EXPECT_EQ(made->count.load(), 1);
    atomically([&](tx& t) { destroy(t, made); });
}

// The open nested commit defers its wait for readers of plain memory until the handlers have run. A handler that
// reads the commit's writes waits for the commit, but not for the end of its own context.
TEST_F(open_nesting_leftovers_test, let_a_handler_read_its_own_pending_publication) {
    if (!concurrent()) GTEST_SKIP() << "nests closed";
    long plain = 0;
    atomically([&](tx& t) { store(t, &plain, 1L); });
    for (const bool as_block : {true, false}) {
        std::vector<long> seen;
        atomically([&](tx& t) {
            open_nested(
                t, [this](tx& i) { inner_.set(i, inner_.get(i) + 1); },
                [this](tx& u) { inner_.set(u, inner_.get(u) - 1); });
            t.on_abort([&, as_block] {
                seen.push_back(as_block ? atomically([this](tx& u) { return inner_.get(u); }) : inner_.load());
            });
            if (t.attempt() == 1) restart(t);
        });
        EXPECT_EQ(seen, std::vector<long>{as_block ? 1L : 2L});
    }
    EXPECT_EQ(inner_.load(), 2);
}

}  // namespace
}  // namespace tutti::anomalies
