// The same block over objects of a cluster that are all local, and over variables.
#include <deque>
#include <vector>

#include <tutti/cluster/ref.hpp>

#include "engines/tutti.hpp"
#include "workloads/objects.hpp"

namespace bench {
namespace {

struct over_variables : tutti_default {
    class bank {
    public:
        explicit bank(unsigned size) {
            while (accounts_.size() != size) accounts_.emplace_back(0);
        }
        void transfer(unsigned from, unsigned to) {
            tutti::atomically([&](tutti::tx& t) {
                accounts_[from].set(t, accounts_[from].get(t) - 1);
                accounts_[to].set(t, accounts_[to].get(t) + 1);
            });
        }
        long sum_of_two(unsigned one, unsigned other) {
            return tutti::atomically([&](tutti::tx& t) { return accounts_[one].get(t) + accounts_[other].get(t); });
        }

    private:
        std::deque<tutti::var<long>> accounts_;
    };
};

struct over_objects : tutti_default {
    static constexpr const char* name = "tutti-objects";
    struct account {
        long balance;
    };
    class bank {
    public:
        explicit bank(unsigned size) {
            for (unsigned i = 0; i < size; ++i) {
                accounts_.emplace_back(node_, tutti::cluster::object_id{0, i});
                tutti::atomically([&](tutti::tx& t) { accounts_.back().publish(t, {0}); });
            }
        }
        void transfer(unsigned from, unsigned to) {
            tutti::atomically([&](tutti::tx& t) {
                accounts_[from].write(t).balance -= 1;
                accounts_[to].write(t).balance += 1;
            });
        }
        long sum_of_two(unsigned one, unsigned other) {
            return tutti::atomically(
                [&](tutti::tx& t) { return accounts_[one].read(t).balance + accounts_[other].read(t).balance; });
        }

    private:
        tutti::cluster::node node_;
        std::vector<tutti::cluster::ref<account>> accounts_;
    };
};

[[maybe_unused]] const bool added = (add_objects<over_variables>(), add_objects<over_objects>(), true);

}  // namespace
}  // namespace bench
