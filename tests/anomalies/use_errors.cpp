// Usage errors. A forbidden action is diagnosed immediately, with a message that says what to do instead. The block has
// no effect, and the next one works.
#include <cctype>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

class use_errors_test : public suite {
protected:
    var<long> v_{1};
    std::uint64_t plain_ = 1;

    /// Expects a usage_error with a full sentence that contains `word`, and that nothing is stuck afterwards.
    template <class F>
    void expect_diagnosed(const char* word, F misuse) {
        try {
            misuse();
            ADD_FAILURE() << "not diagnosed";
        } catch (const usage_error& e) {
            const std::string what = e.what();
            EXPECT_GT(what.size(), 20u) << what;
            EXPECT_NE(what.find(word), std::string::npos) << what;
        }
        run_threads(2, [&](unsigned) { atomically([&](tx& t) { v_.set(t, v_.get(t) + 1); }); });
        EXPECT_EQ(v_.load(), 3) << "the misused block had an effect";
        EXPECT_EQ(plain_, 1u);
        v_.store(1);
    }
};

TEST_F(use_errors_test, include_a_write_in_a_read_only_block) {
    for (const bool read_first : {false, true}) {
        const auto in = [&](auto body) {
            return [&, body] {
                atomically({.read_only = true}, [&](tx& t) {
                    if (read_first) (void)v_.get(t);
                    body(t);
                });
            };
        };
        expect_diagnosed("read", in([&](tx& t) { v_.set(t, 5); }));
        expect_diagnosed("read", in([&](tx& t) { store(t, &plain_, 5u); }));
        expect_diagnosed("read", in([&](tx&) { atomically([&](tx& c) { v_.set(c, 5); }); }));
        expect_diagnosed("read", in([&](tx&) { v_.store(5); }));
    }
}

TEST_F(use_errors_test, include_a_retry_that_only_waits_for_itself) {
    var<int> own{0};
    expect_diagnosed("retry", [&] {
        atomically([&](tx& t) {
            own.set(t, 1);
            static_cast<void>(own.get(t));
            retry(t);
        });
    });
    expect_diagnosed("retry", [] {
        atomically([](tx& t) {
            const auto* const first = create<var<int>>(t, 1);
            const auto* const second = create<var<int>>(t, 2);
            static_cast<void>(first->get(t) + second->get(t));
            retry(t);
        });
    });
    EXPECT_EQ(own.load(), 0);
}

TEST_F(use_errors_test, apply_to_a_flat_read_only_block) {
    var<int> v{0};
    constexpr options reads{.read_only = true, .nesting = nesting::flat};
    expect_diagnosed("read-only", [&] { atomically([&](tx&) { atomically(reads, [&](tx& f) { v.set(f, 1); }); }); });
    expect_diagnosed("read-only", [&] {
        atomically([&](tx&) { atomically(reads, [&](tx&) { atomically([&](tx& n) { v.set(n, 1); }); }); });
    });
    // The promise of the flat block ends with that block.
    atomically([&](tx& t) {
        EXPECT_EQ(atomically(reads, [&](tx& f) { return v.get(f); }), 0);
        v.set(t, 1);
    });
    atomically(no_unwind, [&](tx& t) {
        v.set(t, 2);
        atomically(reads, [](tx& f) {
            if (f.attempt() == 1) restart(f);
        });
        v.set(t, 3);
    });
    EXPECT_EQ(v.load(), 3);
    atomically([&](tx& t) {
        atomically({.mode = mode::irrevocable, .nesting = nesting::flat}, [](tx& f) { EXPECT_TRUE(f.irrevocable()); });
        EXPECT_TRUE(t.irrevocable());
    });
}

TEST_F(use_errors_test, include_a_retry_without_reads) {
    expect_diagnosed("retry", [] { atomically([](tx& t) { retry(t); }); });
    expect_diagnosed("retry", [&] {
        atomically([&](tx& t) {
            v_.set(t, 5);  // written, but nothing read
            atomically([](tx& c) { retry(c); });
        });
    });
}

TEST_F(use_errors_test, occur_in_an_irrevocable_block) {
    const options how{.mode = mode::irrevocable};
    expect_diagnosed("irrevocable", [&] {
        atomically(how, [&](tx& t) {
            (void)v_.get(t);
            retry(t);
        });
    });
    expect_diagnosed("irrevocable", [&] { atomically(how, [](tx& t) { restart(t); }); });
    expect_diagnosed("irrevocable", [&] { atomically(how, [](tx& t) { t.become_visible(); }); });
    expect_diagnosed("irrevocable", [&] {
        atomically([&](tx& t) {
            v_.set(t, 5);
            t.become_irrevocable("test");
            retry(t);
        });
    });
}

// The handle outlives its block. Each use of the handle reports a usage error, and does not affect the current block.
TEST_F(use_errors_test, include_a_handle_used_after_its_block) {
    tx* kept = nullptr;
    atomically([&](tx& t) { kept = &t; });
    expect_diagnosed("transaction", [&] { (void)v_.get(*kept); });
    expect_diagnosed("transaction", [&] { v_.set(*kept, 5); });
    expect_diagnosed("transaction", [&] { (void)load(*kept, &plain_); });
    expect_diagnosed("transaction", [&] { store(*kept, &plain_, 5u); });
    expect_diagnosed("transaction", [&] { kept->on_commit([] {}); });
    expect_diagnosed("transaction", [&] { (void)create<long>(*kept); });
    expect_diagnosed("transaction", [&] { cancel(*kept); });
    expect_diagnosed("transaction", [&] { restart(*kept); });
    expect_diagnosed("transaction", [&] { retry(*kept); });
    expect_diagnosed("transaction", [&] { kept->become_irrevocable(); });
    expect_diagnosed("transaction", [&] { kept->become_visible(); });
}

// A usage error inside a nested block leaves both blocks.
TEST_F(use_errors_test, include_a_misaligned_plain_word) {
    alignas(8) char bytes[16] = {};
    auto* const misaligned = reinterpret_cast<std::uint64_t*>(bytes + 4);
    expect_diagnosed("aligned", [&] { atomically([&](tx& t) { (void)tutti::load(t, misaligned); }); });
    expect_diagnosed("aligned", [&] { atomically([&](tx& t) { tutti::store(t, misaligned, std::uint64_t{1}); }); });
}

TEST_F(use_errors_test, roll_a_nested_block_back) {
    expect_diagnosed("retry", [&] {
        atomically([&](tx& t) {
            v_.set(t, 5);
            atomically([](tx& c) { retry(c); });
        });
    });
}

TEST_F(use_errors_test, include_a_change_of_algorithm_inside_a_block) {
    (void)v_.load();
    const std::string before{algorithm()};
    expect_diagnosed("transaction", [&] { use_algorithm(before == "norec" ? "wb-etl" : "norec"); });
    EXPECT_EQ(algorithm(), before);
}

TEST_F(use_errors_test, name_the_known_algorithms) {
    try {
        use_algorithm("no-such-thing");
        ADD_FAILURE() << "not diagnosed";
    } catch (const usage_error& e) {
        const std::string what = e.what();
        EXPECT_NE(what.find("no-such-thing"), std::string::npos) << what;
        for (const auto& known : available_algorithms()) EXPECT_NE(what.find(known.name), std::string::npos) << what;
    }
    EXPECT_GE(available_algorithms().size(), 6u);
    for (const auto& known : available_algorithms()) EXPECT_FALSE(known.summary.empty()) << known.name;
}

// Code that must not fail cannot report by an exception, so it ends the program with a message. The child processes are
// started anew, because the parent may have other threads; for the same reason they have no watchdog.
TEST(fatal_use_errors_test, include_a_transaction_started_in_at_commit) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto offend = [] {
        try {
            var<long> v{0};
            atomically([&](tx& t) {
                v.set(t, 1);
                t.at_commit([&] { atomically([&](tx& own) { v.set(own, 2); }); });
            });
        } catch (const usage_error& e) {  // equally good
            std::fprintf(stderr, "%s", e.what());
            std::abort();
        }
    };
    EXPECT_DEATH(offend(), "at_commit");
}

TEST(fatal_use_errors_test, end_the_program_when_a_signal_reaches_noexcept) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto offend = [] {
        atomically([](tx& t) {
            const auto leaves = [&]() noexcept { restart(t); };
            leaves();
        });
    };
    EXPECT_DEATH(offend(), "tutti: a restart .explicit_restart. of the atomic block at .*use_errors.cpp:.*noexcept");
}

TEST(fatal_use_errors_test, include_an_unknown_algorithm_in_the_environment) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const char* const found = std::getenv("TUTTI_ALGORITHM");
    const std::string before = found != nullptr ? found : "wb-etl";
    const auto offend = [] {
        try {
            var<long> v{0};
            v.store(1);
            std::exit(0);
        } catch (const usage_error& e) {
            std::fprintf(stderr, "%s", e.what());
            std::abort();
        }
    };
    setenv("TUTTI_ALGORITHM", "no-such-thing", 1);
    EXPECT_DEATH(offend(), "no-such-thing(.|\n)*wb-etl");
    setenv("TUTTI_ALGORITHM", before.c_str(), 1);
}

}  // namespace
}  // namespace tutti::anomalies
