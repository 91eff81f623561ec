// Phantom: a range that was read gains or loses a member before the reader's transaction takes effect.
//
// The structure is a sorted linked list whose nodes come and go with the commits. Catches an engine that does not
// validate reads of memory that was freed meanwhile, and one that frees too early. Catches an engine whose new nodes
// become reachable before their fields are written.
#include <barrier>

#include "anomalies/flavour.hpp"
#include "support/meeting_point.hpp"
#include "support/random.hpp"

namespace tutti::anomalies {
namespace {

struct node {
    node(long k, node* n) : key{k}, next{n} {}
    const long key;
    var<node*> next;
};

class sorted_list {
public:
    ~sorted_list() {
        for (node* n = head_.load(); n != nullptr;) delete std::exchange(n, n->next.load());
    }

    bool insert(tx& t, long key) {
        auto [link, found] = find(t, key);
        if (found != nullptr && found->key == key) return false;
        link->set(t, create<node>(t, key, found));
        size_.set(t, size_.get(t) + 1);
        sum_.set(t, sum_.get(t) + key);
        return true;
    }
    bool erase(tx& t, long key) {
        auto [link, found] = find(t, key);
        if (found == nullptr || found->key != key) return false;
        link->set(t, found->next.get(t));
        destroy(t, found);
        size_.set(t, size_.get(t) - 1);
        sum_.set(t, sum_.get(t) - key);
        return true;
    }
    [[nodiscard]] long count(tx& t, long from, long to) const {
        long members = 0;
        for (node* n = head_.get(t); n != nullptr && n->key < to; n = n->next.get(t)) members += n->key >= from ? 1 : 0;
        return members;
    }
    /// Returns true if the list is sorted, and its length and sum equal the counters.
    [[nodiscard]] bool sound(tx& t) const {
        long size = 0, sum = 0, last = -1;
        for (node* n = head_.get(t); n != nullptr; n = n->next.get(t)) {
            if (n->key <= last) return false;
            last = n->key;
            ++size;
            sum += n->key;
        }
        return size == size_.get(t) && sum == sum_.get(t);
    }

private:
    /// Returns the link to the first node that is not below `key`, and that node.
    std::pair<var<node*>*, node*> find(tx& t, long key) {
        var<node*>* link = &head_;
        node* n = link->get(t);
        while (n != nullptr && n->key < key) {
            link = &n->next;
            n = link->get(t);
        }
        return {link, n};
    }

    var<node*> head_{nullptr};
    var<long> size_{0}, sum_{0};
};

class phantom_test : public suite_of_flavours {};

TEST_P(phantom_test, does_not_occur_in_a_linked_list) {
    const std::size_t each = rounds(240);
    constexpr long keys = 48;
    sorted_list list;
    violations seen;
    run_threads(5, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        support::random dice{me};
        for (std::size_t i = 0; i < each; ++i) {
            const auto key = static_cast<long>(dice.below(keys));
            switch (dice.below(3)) {
                case 0: run(mine, [&](tx& t) { return list.insert(t, key); }); break;
                case 1: run(mine, [&](tx& t) { return list.erase(t, key); }); break;
                default: run(mine, {.read_only = me % 2 == 0}, [&](tx& t) { seen.expect(list.sound(t)); });
            }
        }
    });
    EXPECT_EQ(seen.count(), 0);
    EXPECT_TRUE(atomically([&](tx& t) { return list.sound(t); }));
}

// A transaction that finds a range empty inserts one member. Two transactions that both found it empty would insert
// two.
TEST_P(phantom_test, does_not_fill_an_empty_range_twice) {
    const std::size_t each = rounds(160);
    constexpr long range = 8, ranges = 4;
    sorted_list list;
    violations twice;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        support::random dice{me};
        for (std::size_t i = 0; i < each; ++i) {
            const auto from = static_cast<long>(dice.below(ranges)) * range;
            const long key = from + static_cast<long>(dice.below(range));
            run(mine, [&](tx& t) {
                const long members = list.count(t, from, from + range);
                twice.expect(members <= 1);
                if (members == 0) {
                    list.insert(t, key);
                } else {
                    for (long k = from; k < from + range; ++k) list.erase(t, k);
                }
            });
        }
    });
    EXPECT_EQ(twice.count(), 0);
    EXPECT_TRUE(atomically([&](tx& t) { return list.sound(t); }));
}

// Two transactions scan the same list before either inserts: one inserts before its only member, and one after it. The
// transactions write different words, and the second one to commit has counted without the other's node.
TEST_P(phantom_test, is_not_inserted_into_a_read_range) {
    const std::size_t meetings = rounds(8);
    var<node*> head{nullptr};
    violations twice;
    std::barrier around{2};
    support::meeting_point inside;
    const auto empty = [&] {
        atomically([&](tx& t) {
            for (node* n = head.get(t); n != nullptr;) {
                node* const next = n->next.get(t);
                destroy(t, n);
                n = next;
            }
            head.set(t, nullptr);
        });
    };
    run_threads(2, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        for (std::size_t i = 0; i < meetings; ++i) {
            if (me == 0) {
                empty();
                inside.reset();
                atomically([&](tx& t) { head.set(t, create<node>(t, 1, nullptr)); });
            }
            around.arrive_and_wait();
            run(mine, [&](tx& t) {
                long members = 0;
                for (node* n = head.get(t); n != nullptr; n = n->next.get(t)) ++members;
                inside.meet(me);
                if (members != 1) return;
                node* const first = head.get(t);
                if (me == 0) head.set(t, create<node>(t, 0, first));
                else first->next.set(t, create<node>(t, 2, nullptr));
            });
            around.arrive_and_wait();
            if (me != 0) continue;
            const long members = atomically([&](tx& t) {
                long count = 0;
                for (node* n = head.get(t); n != nullptr; n = n->next.get(t)) ++count;
                return count;
            });
            twice.expect(members == 2);
        }
    });
    empty();
    EXPECT_EQ(twice.count(), 0);
}

TUTTI_IN_EVERY_FLAVOUR(phantom_test);

}  // namespace
}  // namespace tutti::anomalies
