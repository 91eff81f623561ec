// The entries of the logs, and the parts of a log that an operation scans: every algorithm, on the descriptor of this
// thread.
//
// A test protects the pages of a part that must not be scanned, so code that scans this part crashes.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/table.hpp"
#include "core/lifecycle/open_nesting.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/replaced.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

/// Protects the whole pages of an array against any access during its lifetime.
class out_of_reach {
public:
    template <class T>
    out_of_reach(const T* begin, const T* end) {
        const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        const std::uintptr_t from = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) & ~(page - 1);
        const std::uintptr_t to = reinterpret_cast<std::uintptr_t>(end) & ~(page - 1);
        if (from >= to) return;
        from_ = reinterpret_cast<void*>(from);
        size_ = to - from;
        allow(PROT_NONE);
    }
    ~out_of_reach() {
        if (size_ != 0) allow(PROT_READ | PROT_WRITE);
    }
    out_of_reach(const out_of_reach&) = delete;
    out_of_reach& operator=(const out_of_reach&) = delete;

private:
    void allow(int what) const { EXPECT_EQ(::mprotect(from_, size_, what), 0); }

    void* from_ = nullptr;
    std::size_t size_ = 0;
};

TEST(log_test, keeps_the_order_of_set_aside_entries) {
    memory::log<int> all;
    constexpr int many = 10000;
    for (int i = 0; i < many; ++i) {
        all.push(2 * i + 1);
        all.reserve_one();
        all.set_aside(2 * i);
    }
    ASSERT_EQ(all.size(), std::size_t{many});
    ASSERT_EQ(all.aside(), std::size_t{many});
    for (std::size_t i = 0; i < many; ++i) {
        EXPECT_EQ(all.aside(i), static_cast<int>(2 * i));
        EXPECT_EQ(all[i], static_cast<int>(2 * i + 1));
    }
    const std::size_t bytes = all.bytes();
    while (!all.empty()) {
        const int one = all.back();
        all.pop();
        all.set_aside(one);
    }
    EXPECT_EQ(all.bytes(), bytes) << "what was in the log is set aside in its place";
    EXPECT_EQ(all.aside(2 * many - 1), 1);
    all.end_period();
    all.trim();
    EXPECT_EQ(all.bytes(), bytes) << "memory is in use";
    all.shrink_aside(many);
    EXPECT_EQ(all.aside(many - 1), 2 * (many - 1));
    all.shrink_aside(0);
    all.trim();
    EXPECT_EQ(all.bytes(), 0U);
}

class logs_test : public ::testing::TestWithParam<const instance*> {
protected:
    logs_test() { choose(*GetParam()); }
    ~logs_test() override { choose(chosen_instance()); }

    /// The first half of the variables is for the outer block, the second half for inner blocks.
    static constexpr std::size_t half = 4000;
    std::unique_ptr<var<long>[]> vars_ = std::make_unique<var<long>[]>(2 * half);
    descriptor& d_ = descriptor::of(detail::current_or_attach());

    void write(tx& t, std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) vars_[i].set(t, 1);
    }
    long sum(tx& t, std::size_t from, std::size_t to) {
        long all = 0;
        for (std::size_t i = from; i < to; ++i) all += vars_[i].get(t);
        return all;
    }

private:
    void choose(const instance& i) {
        enter_open_nested(d_);
        leave_open_nested(d_);
        for (descriptor* const d : {&d_, d_.inner}) {
            d->algorithm = &i;
            d->operations_ = &i;
        }
    }
};

std::vector<const instance*> all_algorithms() { return {algorithms::all().begin(), algorithms::all().end()}; }
std::string name_of(const ::testing::TestParamInfo<const instance*>& tested) {
    std::string name{tested.param->name};
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(under, logs_test, ::testing::ValuesIn(all_algorithms()), name_of);

// The frame of an outermost block does not store positions in the logs, so code must not read them.
TEST_P(logs_test, do_not_grow_by_repeated_writes) {
    detail::frame f;
    std::memset(static_cast<void*>(&f.mark), 0xff, sizeof f.mark);
    detail::site_slot slot;
    d_.operations_->open(d_, f, slot, {}, detail::no_options);
    write(d_, 0, 1);
    const std::size_t after_one = d_.writes.size();
    for (int i = 0; i < 100; ++i) write(d_, 0, 1);
    EXPECT_EQ(d_.writes.size(), after_one);
    EXPECT_TRUE(d_.overwritten.empty());
    EXPECT_TRUE(d_.operations_->commit(d_));
}

TEST_P(logs_test, keep_parent_entries_at_nested_roll_backs) {
    atomically([&](tx& t) {
        write(t, 0, half);
        std::optional<out_of_reach> parents;
        const bool kept = try_atomically([&](tx& n) {
            const std::size_t before = d_.writes.size();
            write(n, half, half + 10);
            parents.emplace(d_.writes.begin(), d_.writes.begin() + before);
            cancel(n);
        });
        parents.reset();
        EXPECT_FALSE(kept);
        EXPECT_EQ(sum(t, 0, half + 20), static_cast<long>(half));
    });
}

TEST_P(logs_test, skip_reads_at_checkpoints_without_commits) {
    atomically([&](tx& t) {
        EXPECT_EQ(sum(t, 0, half), 0);
        std::optional<out_of_reach> records, values;
        checkpoint(t, [&](tx& n) {
            EXPECT_EQ(sum(n, half, 2 * half), 0);
            records.emplace(d_.read_begin, const_cast<const memory::orec**>(d_.read_next_));
            values.emplace(d_.algorithm_data.values.begin(), d_.algorithm_data.values.end());
        });
    });
}

// Blocks of the language that can be cancelled have frames of their own. Catches an access that scans these frames.
TEST_P(logs_test, skip_outer_blocks_at_accesses) {
    if (!GetParam()->in_place) GTEST_SKIP() << "runs no blocks of the language";
    const auto make = [](std::size_t count) {
        auto frames = std::make_unique<detail::frame[]>(count);
        for (std::size_t i = 0; i != count; ++i) frames[i].receive = [](tx&) {};
        return frames;
    };
    constexpr std::size_t many = 1000;
    const auto outermost = make(1), around = make(many), innermost = make(1);
    alignas(8) long plain = 0;
    d_.algorithm->open_plainly(d_, outermost[0], {}, detail::no_options);
    for (std::size_t i = 0; i != many; ++i) detail::open_nested(d_, around[i]);
    store(d_, &plain, 1L);
    detail::open_nested(d_, innermost[0]);
    {
        const out_of_reach frames{&around[0], &around[many - 1]};
        EXPECT_EQ(load(d_, &plain), 1);
        store(d_, &plain, 2L);
        vars_[0].set(d_, vars_[1].get(d_));
        detail::close_nested(d_, innermost[0]);
    }
    for (std::size_t i = many; i-- != 0;) detail::close_nested(d_, around[i]);
    EXPECT_TRUE(d_.operations_->commit(d_));
    EXPECT_EQ(plain, 2);
}

/// An object that a nested block makes, and that is destroyed after the block's roll-back.
struct leftover {
    var<long> member{0};
    ~leftover() { ++destroyed; }
    static inline long destroyed = 0;
};

// Catches an end of a block that scans the remains of rolled-back blocks inside the block. The cost of a chain of
// blocks would be quadratic in its depth.
TEST_P(logs_test, skip_leftovers_when_outer_blocks_end) {
    enum class way { commit, cancel, exception, alternative };
    const auto leave = [&](tx& t) {
        for (std::size_t i = 0; i < half; ++i) {
            t.on_abort([] {});
            t.on_commit([] {});
            static_cast<void>(create<leftover>(t));
            static_cast<void>(vars_[i].get(t));  // so that the objects stay as well
        }
    };
    const auto end = [](tx& t, way by) {
        if (by == way::cancel) cancel(t);
        if (by == way::exception) throw 1;
        if (by == way::alternative) retry(t);
    };
    for (const way by : {way::commit, way::cancel, way::exception, way::alternative}) {
        leftover::destroyed = 0;
        long own = 0;
        atomically([&](tx& t) {
            std::unique_ptr<out_of_reach> left;
            const auto middle = [&](tx& n) {
                EXPECT_FALSE(try_atomically([&](tx& i) {
                    leave(i);
                    cancel(i);
                }));
                auto& log = d_.deferred_log;
                EXPECT_GE(log.aside(), 3 * half);
                EXPECT_EQ(log.size(), 0U);
                n.on_abort([&own] { ++own; });
                left = std::make_unique<out_of_reach>(&log.aside(log.aside() - 1), &log.aside(0) + 1);
                end(n, by);
            };
            try {
                or_else(t, [&](tx&) { static_cast<void>(try_atomically([&](tx& i) { middle(i); })); }, [](tx&) {});
            } catch (int) {}
            left.reset();
        });
        EXPECT_EQ(own, by == way::commit ? 0 : 1);
        EXPECT_EQ(leftover::destroyed, static_cast<long>(half));
        EXPECT_EQ(d_.deferred_log.aside(), 0U);
    }
}

struct agreeing final : participant {
    vote prepare() override { return vote::commit; }
    void commit() noexcept override {}
    void abort() noexcept override {}
};

// Catches a checkpoint or a retry that scans the whole log for participants.
TEST_P(logs_test, skip_deferred_entries_at_checkpoints) {
    agreeing all[half];
    atomically([&](tx& t) {
        for (agreeing& one : all) {
            t.on_commit([] {});
            t.join(one);
        }
        auto& log = d_.deferred_log;
        log.reserve(100);
        const replaced_search_pause meanwhile{*d_.frame_};
        const out_of_reach earlier{log.begin(), log.begin() + 2 * half};
        checkpoint(t, [&](tx& n) { n.on_commit([] {}); });
        or_else(
            t,
            [&](tx& n) {
                n.join(all[0]);
                retry(n);
            },
            [](tx&) {});
    });
}

struct showing final : data_participant {
    vote prepare() override { return vote::commit; }
    void commit() noexcept override {}
    void abort() noexcept override {}
    void drop_step() noexcept override {}
    void recheck() override {}
    bool freeze() override { return true; }
    bool commit_one_phase() noexcept override { return false; }
};

// Catches a roll-back that loses a step, or exchanges two of them.
TEST_P(logs_test, keep_data_participants_and_steps_in_order) {
    constexpr std::size_t steps = 100;
    showing one, two;
    const auto put_off_for = [&](showing& of, deferred::kind what) {
        defer(d_, what, static_cast<participant*>(&of), nullptr);
    };
    long undone = 0;
    atomically([&](tx& t) {
        t.on_abort([] {});
        for (int times = 0; times < 2; ++times) {
            EXPECT_FALSE(try_atomically([&](tx& n) {
                n.on_abort([&] { ++undone; });
                if (times == 0) put_off_for(one, deferred::kind::data_participant);
                for (std::size_t i = 0; i < steps; ++i) {
                    put_off_for(one, deferred::kind::shown);
                    n.on_abort([&] { ++undone; });
                    if (i % 3 == 0) put_off_for(two, deferred::kind::shown);
                }
                cancel(n);
            }));
        }
        const std::size_t of_two = (steps + 2) / 3;
        EXPECT_EQ(d_.deferred_log.size(), 2 + 2 * (steps + of_two));
        EXPECT_TRUE(d_.deferred_log[1].what == deferred::kind::data_participant);
        for (std::size_t i = 0; i < 2 * steps; ++i) {
            const std::size_t before = i / steps * of_two + (i % steps + 2) / 3;
            EXPECT_EQ(index_of_step(d_, one, i), 2 + i + before);
        }
    });
    EXPECT_EQ(undone, static_cast<long>(2 * (steps + 1)));
}

// Catches a wait with a limit, or its roll-back, that scans everything that the attempt has done before.
TEST_P(logs_test, skip_earlier_retry_limits) {
    const auto pass_by = [](tx& t) { retry_for(t, std::chrono::nanoseconds{0}); };
    const auto pass_by_in_vain = [&] {
        EXPECT_FALSE(try_atomically([&](tx& n) {
            pass_by(n);
            cancel(n);
        }));
    };
    atomically([&](tx& t) {
        for (std::size_t i = 0; i < half; ++i) pass_by(t);
        EXPECT_EQ(d_.retry_calls.size(), half);
        pass_by_in_vain();
        const out_of_reach earlier{d_.retry_calls.begin(), d_.retry_calls.begin() + half};
        for (int i = 0; i < 3; ++i) pass_by_in_vain();
        pass_by(t);
        EXPECT_EQ(d_.retry_calls.size(), half + 1);
    });
}

// Objects are destroyed in reverse order of creation, across the blocks that were rolled back.
TEST_P(logs_test, destroy_leftovers_from_the_inside_out) {
    std::string order;
    struct noting {
        std::string* to;
        char name;
        noting(std::string& order, char name) : to{&order}, name{name} {}
        noting(const noting&) = delete;
        noting& operator=(const noting&) = delete;
        ~noting() { *to += name; }
    };
    const auto make = [&](tx& t, char name) {
        static_cast<void>(create<noting>(t, order, name));
        static_cast<void>(vars_[0].get(t));
    };
    EXPECT_FALSE(try_atomically([&](tx& t) {
        make(t, 'a');
        make(t, 'b');
        EXPECT_FALSE(try_atomically([&](tx& n) {
            make(n, 'c');
            EXPECT_FALSE(try_atomically([&](tx& i) {
                make(i, 'd');
                make(i, 'e');
                cancel(i);
            }));
            make(n, 'f');
            cancel(n);
        }));
        cancel(t);
    }));
    EXPECT_EQ(order, "edfcba");
}

#if !defined(TUTTI_CHECK) && !defined(TUTTI_SANITIZED)  // these builds scan each time: core/rollback/replaced.hpp

/// Counts the entries that were scanned for replaced objects when blocks closed, each in the last block.
class looks {
public:
    explicit looks(descriptor& d) : d_{d} {}
    void down(tx& t, int levels) {
        if (levels == 0) return;
        t.on_commit([] {});
        atomically([&](tx& n) { down(n, levels - 1); });
        // At its close the nested block had fewer entries than both have together, so this condition shows that a scan
        // happened.
        const std::size_t mark = d_.frame_->parent != nullptr ? d_.frame_->mark.deferred : 0;
        const std::size_t left = d_.frame_->left_when_looked;
        if (left == d_.deferred_log.size() - mark) sum_ += left;
    }
    [[nodiscard]] std::size_t sum() const { return sum_; }

private:
    descriptor& d_;
    std::size_t sum_ = 0;
};

TEST_P(logs_test, search_deferred_entries_rarely_at_any_depth) {
    constexpr int levels = 4000;
    looks seen{d_};
    atomically([&](tx& t) { seen.down(t, levels); });
    EXPECT_GE(seen.sum(), std::size_t{levels} / 4);
    EXPECT_LE(seen.sum(), std::size_t{levels} * 3);
}

#endif

TEST_P(logs_test, restore_the_first_value) {
    alignas(8) std::uint8_t bytes[8] = {};
    EXPECT_FALSE(try_atomically([&](tx& t) {
        vars_[0].set(t, 1);
        store(t, &bytes[1], std::uint8_t{1});
        atomically([&](tx& n) {
            vars_[0].set(n, 2);
            store(n, &bytes[1], std::uint8_t{2});
            store(n, &bytes[6], std::uint8_t{2});
        });
        store(t, &bytes[7], std::uint8_t{1});
        cancel(t);
    }));
    EXPECT_EQ(vars_[0].load(), 0);
    for (const std::uint8_t b : bytes) EXPECT_EQ(b, 0);
}

// Versions cannot name this descriptor, so its own roll-back looks like another transaction's commit.
TEST_P(logs_test, let_an_anonymous_writer_sleep_in_retry) {
    const detail::word name = std::exchange(d_.own_writer_, ~detail::word{0});
    const detail::word number = std::exchange(d_.writer, memory::unknown_writer);
    unsigned attempts = 0;
    atomically([&](tx& t) {
        ++attempts;
        EXPECT_EQ(vars_[0].get(t), 0);
        vars_[0].set(t, 1);
        retry_for(t, std::chrono::milliseconds{20});
    });
    d_.own_writer_ = name;
    d_.writer = number;
    EXPECT_LE(attempts, 2U);  // one before the sleep, and one that finds its time limit expired
}

// Versions cannot name this descriptor. So the roll-back of its own nested block also looks like another transaction's
// commit. Catches an outer block that restarts at every attempt for this reason.
TEST_P(logs_test, survive_nested_roll_backs_of_an_anonymous_writer) {
    const detail::word name = std::exchange(d_.own_writer_, ~detail::word{0});
    const detail::word number = std::exchange(d_.writer, memory::unknown_writer);
    unsigned attempts = 0;
    atomically([&](tx& t) {
        ++attempts;
        EXPECT_EQ(vars_[0].get(t), 0);
        EXPECT_FALSE(try_atomically([&](tx& n) {
            vars_[0].set(n, 1);
            cancel(n);
        }));
        EXPECT_EQ(vars_[0].get(t), 0);
        vars_[1].set(t, 1);
    });
    d_.own_writer_ = name;
    d_.writer = number;
    EXPECT_LE(attempts, 2U);
}

class value_logs_test : public logs_test {};
INSTANTIATE_TEST_SUITE_P(under, value_logs_test, ::testing::Values(algorithms::find("norec")), name_of);

TEST_P(value_logs_test, skip_comparison_without_commits) {
    atomically([&](tx& t) {
        EXPECT_EQ(sum(t, 0, half), 0);
        const out_of_reach values{d_.algorithm_data.values.begin(), d_.algorithm_data.values.end()};
        EXPECT_TRUE(d_.algorithm->unchanged(d_));
        t.become_visible();
    });
}

TEST_P(value_logs_test, are_compared_after_a_commit) {
    // Equivalent to a commit of another thread.
    const auto commit_apart = [](tx& t, var<long>& v) { open_nested(t, [&v](tx& i) { v.set(i, 1); }, [](tx&) {}); };
    EXPECT_FALSE(try_atomically([&](tx& t) {
        EXPECT_EQ(sum(t, 0, half), 0);
        commit_apart(t, vars_[half]);
        EXPECT_TRUE(d_.algorithm->unchanged(d_));
        commit_apart(t, vars_[0]);
        EXPECT_FALSE(d_.algorithm->unchanged(d_));
        cancel(t);
    }));
}

// A commit inside an irrevocable block checks bytes and values.
TEST_P(value_logs_test, protect_reads_of_an_irrevocable_block) {
    alignas(8) std::uint32_t words[4] = {};
    const auto store_apart = [&](auto* at, auto value) {
        atomically([&](tx& t) {
            EXPECT_EQ(load(t, &words[1]), 0U);
            // Switches in the middle of the open nested body. If the body began after the switch, it would be a closed
            // block.
            open_nested(
                t,
                [&](tx& i) {
                    t.become_irrevocable("an effect");
                    store(i, at, value);
                },
                [](tx&) {});
            EXPECT_EQ(load(t, &words[1]), 0U);
            store(t, &words[2], load(t, &words[2]) + 1);
        });
    };
    auto* const both = reinterpret_cast<std::uint64_t*>(&words[0]);
    EXPECT_THROW(store_apart(&words[1], 1U), usage_error);
    EXPECT_THROW(store_apart(both, std::uint64_t{1} << 32), usage_error);
    EXPECT_THROW(store_apart(reinterpret_cast<std::uint8_t*>(&words[1]) + 3, std::uint8_t{1}), usage_error);
    EXPECT_EQ(words[2], 0U);
    store_apart(&words[0], 1U);
    store_apart(both, std::uint64_t{2});
    EXPECT_EQ(words[0], 2U);
    EXPECT_EQ(words[2], 2U);
}

}  // namespace
}  // namespace tutti::core
