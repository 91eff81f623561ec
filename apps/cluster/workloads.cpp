#include "cluster/workloads.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <tutti/tutti.hpp>

namespace cluster_app {
namespace {

using tutti::atomically;
using tutti::tx;
using tutti::cluster::node;
using tutti::cluster::object_id;
using tutti::cluster::ref;

constexpr std::uint64_t batch = 200;  // objects of one transaction of fill and check

/// f(first, last) for this node's share of n, a batch at a time.
template <class F>
void for_share(std::uint64_t n, const node& here, F&& f) {
    const std::uint64_t first = n * here.number() / here.nodes(), last = n * (here.number() + 1) / here.nodes();
    for (std::uint64_t i = first; i < last; i += batch) f(i, std::min(i + batch, last));
}

struct account {
    std::int64_t balance = 0;
};
struct transfer {
    ref<account> from, to;
    std::int64_t amount;
};

/// Money goes from account to account, several times in a transaction if so wished; a reader looks at two of them.
/// HyflowCPP's bank, sections 6.2.1.1 and 6.3.
class bank final : public workload {
public:
    bank(const program_options& how, node& here)
        : here_{here},
          accounts_{how.objects},
          reads_{how.reads},
          inner_{how.inner},
          singly_{how.singly},
          nesting_{how.nesting} {}

    void fill() override {
        for_share(accounts_, here_, [this](std::uint64_t first, std::uint64_t last) {
            atomically([&](tx& t) {
                prefetch(t, some(first, last));
                for (std::uint64_t i = first; i < last; ++i) at(i).publish(t, {initial});
            });
        });
    }
    void run_one(random_source& dice) override {
        if (dice.below(100) < reads_) {
            const ref<account> from = at(dice.below(accounts_)), to = at(dice.below(accounts_));
            total_ = total_ + atomically({.read_only = true}, [&](tx& t) {
                         prefetch(t, from, to);
                         return from.read(t).balance + to.read(t).balance;
                     });
            return;
        }
        std::vector<transfer> all;
        for (unsigned i = 0; i < inner_; ++i) {
            all.push_back(
                {at(dice.below(accounts_)), at(dice.below(accounts_)), static_cast<std::int64_t>(dice.below(100))});
        }
        atomically([&](tx& t) {
            if (nesting_ == "checkpoint") return make_with_checkpoints(t, all);
            for (const transfer& one : all) {
                if (nesting_ == "closed") atomically([&](tx& inner) { make(inner, one); });
                else make(t, one);
            }
        });
    }
    std::string check() override {
        std::int64_t sum = 0;
        for (std::uint64_t i = 0; i < accounts_; i += batch) {
            const std::vector<ref<account>> these = some(i, std::min(i + batch, accounts_));
            sum += atomically([&](tx& t) {
                std::int64_t part = 0;
                prefetch(t, these);
                for (const ref<account>& a : these) part += a.read(t).balance;
                return part;
            });
        }
        const std::int64_t right = static_cast<std::int64_t>(accounts_) * initial;
        if (sum == right) return {};
        return fmt::format("the accounts hold {}, and not {}", sum, right);
    }

private:
    static constexpr std::int64_t initial = 1000;
    void make(tx& t, const transfer& one) const {
        if (!singly_) prefetch(t, one.from, one.to);
        one.from.write(t).balance -= one.amount;
        one.to.write(t).balance += one.amount;
    }
    /// Each with all that follow it in the rest of its checkpoint.
    void make_with_checkpoints(tx& t, std::span<const transfer> rest) const {
        checkpoint(t, [&](tx& from_here) {
            make(from_here, rest.front());
            if (rest.size() > 1) make_with_checkpoints(from_here, rest.subspan(1));
        });
    }
    ref<account> at(std::uint64_t i) const { return {here_, object_id{1, i}}; }
    std::vector<ref<account>> some(std::uint64_t first, std::uint64_t last) const {
        std::vector<ref<account>> all;
        for (std::uint64_t i = first; i < last; ++i) all.push_back(at(i));
        return all;
    }

    node& here_;
    const std::uint64_t accounts_;
    const unsigned reads_, inner_;
    const bool singly_;
    const std::string nesting_;
    static inline thread_local std::int64_t total_ = 0;  // so that nobody leaves the reads out
};

/// A table of buckets, each an object: add, remove and find a key. HyflowCPP's hash table, section 6.2.1.5.
class hash_table final : public workload {
public:
    hash_table(const program_options& how, node& here)
        : here_{here}, buckets_{how.objects}, keys_{how.objects * 4}, reads_{how.reads} {}

    void fill() override {
        for_share(buckets_, here_, [this](std::uint64_t first, std::uint64_t last) {
            atomically([&](tx& t) {
                std::vector<ref<bucket>> these;
                for (std::uint64_t b = first; b < last; ++b) these.push_back(at(b));
                prefetch(t, these);
                for (std::uint64_t b = first; b < last; ++b) {
                    at(b).publish(t, {b, b + 2 * buckets_});  // half of the keys that belong there
                }
            });
        });
    }
    void run_one(random_source& dice) override {
        const std::uint64_t key = dice.below(keys_);
        const ref<bucket> in = at(key % buckets_);
        if (dice.below(100) < reads_) {
            found_ =
                found_ + atomically({.read_only = true}, [&](tx& t) { return std::ranges::count(in.read(t), key); });
            return;
        }
        const bool add = dice.below(2) == 0;
        atomically([&](tx& t) {
            const bucket& now = in.read(t);
            const bool there = std::ranges::find(now, key) != now.end();
            if (there == add) return;
            bucket& b = in.write(t);
            if (add) b.push_back(key);
            else std::erase(b, key);
        });
    }
    std::string check() override {
        for (std::uint64_t b = 0; b < buckets_; ++b) {
            bucket now = atomically([&](tx& t) { return at(b).read(t); });
            std::ranges::sort(now);
            const bool twice = std::ranges::adjacent_find(now) != now.end();
            const bool strange =
                std::ranges::any_of(now, [&](std::uint64_t key) { return key >= keys_ || key % buckets_ != b; });
            if (twice || strange) return fmt::format("bucket {} holds a key that is not its own, or one twice", b);
        }
        return {};
    }

private:
    using bucket = std::vector<std::uint64_t>;
    ref<bucket> at(std::uint64_t b) const { return {here_, object_id{2, b}}; }

    node& here_;
    const std::uint64_t buckets_, keys_;
    const unsigned reads_;
    static inline thread_local std::int64_t found_ = 0;
};

struct known {
    const char* name;
    std::unique_ptr<workload> (*make)(const program_options&, node&);
};

template <class W>
std::unique_ptr<workload> make_one(const program_options& how, node& here) {
    return std::make_unique<W>(how, here);
}

constexpr known all[] = {{"bank", make_one<bank>}, {"hash", make_one<hash_table>}};

}  // namespace

std::vector<std::string> workload_names() {
    std::vector<std::string> names;
    for (const known& k : all) names.emplace_back(k.name);
    return names;
}

std::unique_ptr<workload> make_workload(const program_options& how, node& here) {
    return std::ranges::find(all, how.workload, &known::name)->make(how, here);
}

}  // namespace cluster_app
