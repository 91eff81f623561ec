// The verdict of every policy in every situation that policies distinguish. Catches an inverted age rule, ranks
// compared in the wrong direction, work of the attempt that is not counted, and a reader with marks that waits for
// another.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/conflict/contention_rank.hpp"
#include "core/lifecycle/registry.hpp"
#include "policies/table.hpp"

namespace tutti::core {
namespace {

constexpr verdict A = verdict::abort_self;
constexpr verdict K = verdict::kill_other;
constexpr verdict W = verdict::wait;

/// One party of a conflict.
struct party {
    unsigned draws_age = 0;  ///< order of drawing an age: first, second, or 0 for never
    std::int64_t rank = 0;
    unsigned reads = 0;
    bool visible = false;
};

struct situation {
    std::string_view name;
    party self, other;
    std::map<std::string_view, verdict> answers;
    abort_cause where = abort_cause::conflict_write_locked;
};

/// Returns the verdicts of all policies: `special`, and the verdicts of the policies that ignore the parties.
std::map<std::string_view, verdict> with(std::map<std::string_view, verdict> special) {
    std::map<std::string_view, verdict> all{{"patient", W},
                                            {"suicide", A},
                                            {"delay", A},
                                            {"backoff", A},
                                            {"yield", A},
                                            {"serialize-spin", A},
                                            {"serialize", A},
                                            {"serialize-soft", A},
                                            {"serialize-kernel", A},
                                            {"serialize-soft-kernel", A},
                                            {"aggressive", K}};
    special.merge(all);
    return special;
}

const std::vector<situation>& situations() {
    static const std::vector<situation> all{
        {"self is older",
         {.draws_age = 1},
         {.draws_age = 2},
         with({{"timestamp", K}, {"karma", K}, {"priority", K}, {"deadline", K}})},
        {"self is younger",
         {.draws_age = 2},
         {.draws_age = 1},
         with({{"timestamp", W}, {"karma", W}, {"priority", W}, {"deadline", W}})},
        {"the other has no age", {}, {}, with({{"timestamp", K}, {"karma", K}, {"priority", K}, {"deadline", K}})},
        {"self is older, and ranks lower",
         {.draws_age = 1, .rank = 1},
         {.draws_age = 2, .rank = 5},
         with({{"timestamp", K}, {"karma", W}, {"priority", W}, {"deadline", W}})},
        {"self is younger, and ranks higher",
         {.draws_age = 2, .rank = 5},
         {.draws_age = 1, .rank = 1},
         with({{"timestamp", W}, {"karma", K}, {"priority", K}, {"deadline", K}})},
        {"self is younger, ranks are equal",
         {.draws_age = 2, .rank = 3},
         {.draws_age = 1, .rank = 3},
         with({{"timestamp", W}, {"karma", W}, {"priority", W}, {"deadline", W}})},
        {"self ranks below zero",
         {.draws_age = 1, .rank = -1},
         {.draws_age = 2},
         with({{"timestamp", K}, {"karma", W}, {"priority", W}, {"deadline", W}})},
        {"self ranks lower, and has read much since",
         {.draws_age = 2, .rank = 1, .reads = 5},
         {.draws_age = 1, .rank = 3},
         with({{"timestamp", W}, {"karma", K}, {"priority", W}, {"deadline", W}})},
        {"two visible readers, self is older",
         {.draws_age = 1, .visible = true},
         {.draws_age = 2},
         with({{"timestamp", K}, {"karma", K}, {"priority", K}, {"deadline", K}, {"patient", K}}),
         abort_cause::conflict_visible_read},
        {"two visible readers, self is younger",
         {.draws_age = 2, .visible = true},
         {.draws_age = 1},
         with({{"timestamp", W}, {"karma", W}, {"priority", W}, {"deadline", W}}),
         abort_cause::conflict_visible_read},
        {"a writer finds a visible reader",
         {.draws_age = 1},
         {.draws_age = 2, .visible = true},
         with({{"timestamp", K}, {"karma", K}, {"priority", K}, {"deadline", K}}),
         abort_cause::conflict_visible_read},
    };
    return all;
}

/// A descriptor without a thread, as the policies see it.
class stranger {
public:
    stranger() : d_{acquire_descriptor()} {}
    stranger(const stranger&) = delete;
    stranger& operator=(const stranger&) = delete;
    ~stranger() {
        d_.slot = 0;
        d_.drop_reads(0);
        hide_rank(d_);
        d_.run = {};
        release_descriptor(d_);
    }
    void be(const party& like) {
        if (like.rank != 0) announce_rank(d_, like.rank);
        for (unsigned i = 0; i < like.reads; ++i) d_.log_read(read_);
        if (like.visible) d_.slot = 2;
    }
    descriptor& operator*() noexcept { return d_; }

private:
    descriptor& d_;
    memory::orec read_{0};
};

TEST(verdicts, are_right_for_every_policy_and_situation) {
    for (const situation& s : situations()) {
        EXPECT_EQ(s.answers.size(), policies::all().size()) << s.name << ": a policy is missing";
        for (const policy* p : policies::all()) {
            const auto expected = s.answers.find(p->name);
            if (expected == s.answers.end()) {
                ADD_FAILURE() << s.name << ": what does " << p->name << " answer?";
                continue;
            }
            stranger self, other;
            for (const unsigned turn : {1U, 2U}) {
                if (s.self.draws_age == turn) age_of(*self);
                if (s.other.draws_age == turn) age_of(*other);
            }
            self.be(s.self);
            other.be(s.other);
            EXPECT_EQ(p->conflict(*self, *other, s.where), expected->second) << s.name << ", " << p->name;
        }
    }
}

}  // namespace
}  // namespace tutti::core
