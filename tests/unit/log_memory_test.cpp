// Catches logs that never shrink after one large transaction, or that shrink so eagerly that every large transaction
// grows them again. Runs under every algorithm, because their logs differ (CMakeLists.txt).
#include "core/lifecycle/log_memory.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>

#include "core/lifecycle/registry.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

constexpr std::size_t many = 50'000;  // entries: more than kept_bytes of the smallest

std::size_t bytes_of(descriptor& d) {
    std::size_t sum = d.read_capacity() * sizeof *d.read_begin;
    for_each_log(d, [&](const auto& log) { sum += log.bytes(); });
    return sum;
}

void expect_none_large(descriptor& d) {
    EXPECT_LE(d.read_capacity() * sizeof *d.read_begin, memory::kept_bytes);
    for_each_log(d, [](const auto& log) { EXPECT_LE(log.bytes(), memory::kept_bytes); });
}

class log_memory_test : public ::testing::Test {
protected:
    log_memory_test() {
        detach();
        self_ = &attach();
    }
    ~log_memory_test() override { detach(); }

    void read_much() {
        atomically([&](tx& t) {
            for (std::size_t i = 0; i < many; ++i) static_cast<void>(words_[i].get(t));
        });
    }
    void write_much() {
        atomically([&](tx& t) {
            for (std::size_t i = 0; i < many; ++i) words_[i].set(t, words_[i].get(t) + 1);
        });
    }
    /// Also writes in a nested block that overwrites the values.
    void write_much_twice() {
        atomically([&](tx& t) {
            for (std::size_t i = 0; i < many; ++i) words_[i].set(t, 1);
            atomically([&](tx& n) {
                for (std::size_t i = 0; i < many; ++i) words_[i].set(n, 2);
            });
        });
    }
    void make_and_destroy_much() {
        for (int rounds = 0; rounds < 2; ++rounds) {
            atomically([&](tx& t) {
                for (std::size_t i = 0; i < many; ++i) {
                    int* const old = made_[i].get(t);
                    made_[i].set(t, create<int>(t));
                    destroy(t, old);
                }
            });
        }
        atomically([&](tx& t) {
            for (std::size_t i = 0; i < many; ++i) {
                destroy(t, made_[i].get(t));
                made_[i].set(t, nullptr);
            }
        });
    }
    void small(std::uint32_t times) {
        for (std::uint32_t i = 0; i < times; ++i) atomically([&](tx& t) { words_[0].set(t, words_[0].get(t) + 1); });
    }
    template <class Large>
    void expect_given_back(Large&& large) {
        large();
        small(2 * transactions_per_period);
        expect_none_large(*self_);
        EXPECT_EQ(self_->slow_commit, 0u) << "commits take their short way again";
    }

    descriptor* self_;
    std::unique_ptr<var<long>[]> words_ = std::make_unique<var<long>[]>(many);
    std::unique_ptr<var<int*>[]> made_ = std::make_unique<var<int*>[]>(many);
};

TEST(log_growth_test, grows_by_factors_when_reserved_one_by_one) {
    memory::log<long> of_numbers;
    std::size_t changes = 0;
    for (std::size_t reserved = 1, before = 0; reserved <= many; ++reserved) {
        of_numbers.reserve(reserved);
        if (std::exchange(before, of_numbers.bytes()) != of_numbers.bytes()) ++changes;
    }
    EXPECT_LE(changes, 10u) << "of " << many;
}

TEST_F(log_memory_test, releases_the_read_log) {
    expect_given_back([&] { read_much(); });
}
TEST_F(log_memory_test, releases_the_write_set) {
    expect_given_back([&] { write_much(); });
}
TEST_F(log_memory_test, releases_the_log_of_overwritten_entries) {
    expect_given_back([&] { write_much_twice(); });
}
TEST_F(log_memory_test, releases_the_log_of_objects) {
    expect_given_back([&] { make_and_destroy_much(); });
}

TEST_F(log_memory_test, releases_logs_of_abandoned_attempts) {
    struct failure {};
    EXPECT_THROW(atomically([&](tx& t) {
                     for (std::size_t i = 0; i < many; ++i) words_[i].set(t, words_[i].get(t) + 1);
                     throw failure{};
                 }),
                 failure);
    for (std::uint32_t i = 0; i < 2 * transactions_per_period; ++i) {
        EXPECT_THROW(atomically([&](tx& t) {
                         words_[0].set(t, 1);
                         throw failure{};
                     }),
                     failure);
    }
    expect_none_large(*self_);
}

TEST_F(log_memory_test, keeps_memory_that_is_needed_now_and_then) {
    write_much();
    small(2 * transactions_per_period);
    write_much();
    const std::size_t needed = bytes_of(*self_);
    for (int i = 0; i < 8; ++i) {
        small(transactions_per_period / 2);
        EXPECT_EQ(bytes_of(*self_), needed);
        write_much();
        EXPECT_EQ(bytes_of(*self_), needed);
    }
}

TEST_F(log_memory_test, releases_memory_with_the_descriptor) {
    descriptor* its = nullptr;
    std::thread{[&] {
        its = &attach();
        read_much();
        write_much_twice();
        make_and_destroy_much();
        atomically([&](tx& t) {
            for (unsigned i = 0; i < many; ++i) acquire(t, {&words_, i});
        });
    }}.join();
    expect_none_large(*its);
}

}  // namespace
}  // namespace tutti::core
