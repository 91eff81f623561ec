// ABA: a value looks unchanged because it has returned to a former state, but related data has changed.
//
// Catches an engine that compares values where it must compare versions (unless it compares all values at one instant,
// as NOrec does). Catches an engine that reuses memory while a thread still holds its old address.
#include "anomalies/flavour.hpp"
#include "support/random.hpp"

namespace tutti::anomalies {
namespace {

class aba_test : public suite_of_flavours {};

// `sign` flips back and forth, and `step` counts. A reader may see the same sign twice, but must not see two steps.
TEST_P(aba_test, detects_a_value_that_returns) {
    const std::size_t each = rounds(1250);
    var<int> sign{1};
    var<long> step{0};
    std::atomic<bool> done{false};
    violations mixed;
    run_threads(3, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) {
                run(mine, [&](tx& t) {
                    sign.set(t, -sign.get(t));
                    step.set(t, step.get(t) + 1);
                });
            }
            done = true;
        } else {
            while (!done.load()) {
                run(mine, {.read_only = me == 1}, [&](tx& t) {
                    const int before = sign.get(t);
                    const long at = step.get(t);
                    mixed.expect((before > 0) == (at % 2 == 0));
                    mixed.expect(sign.get(t) == before && step.get(t) == at);
                });
            }
        }
    });
    EXPECT_EQ(mixed.count(), 0);
}

// A stack whose nodes are popped and pushed again and again. The head returns to the same address with another node
// below it. A pop that swings the head by its address alone loses or doubles nodes.
TEST_P(aba_test, detects_a_stack_head_that_returns) {
    struct node {
        var<node*> below{nullptr};
        std::atomic<unsigned> holders{0};
    };
    const std::size_t each = rounds(500);
    std::array<node, 4> nodes;
    var<node*> head{nullptr};
    const auto push = [&](tx& t, node* n) {
        n->below.set(t, head.get(t));
        head.set(t, n);
    };
    for (auto& n : nodes) atomically([&](tx& t) { push(t, &n); });
    violations twice;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        const auto pop = [&](tx& t) {
            node* const top = head.get(t);
            if (top != nullptr) head.set(t, top->below.get(t));
            return top;
        };
        for (std::size_t i = 0; i < each; ++i) {
            std::array<node*, 2> held{};
            for (node*& n : held) {
                n = run(mine, pop);
                if (n != nullptr) twice.expect(n->holders.fetch_add(1) == 0);
            }
            for (node* n : held) {  // in their order of arrival, which reverses them on the stack
                if (n == nullptr) continue;
                twice.expect(n->holders.fetch_sub(1) == 1);
                run(mine, [&](tx& t) { push(t, n); });
            }
        }
    });
    EXPECT_EQ(twice.count(), 0);
    std::size_t left = 0;
    for (node* n = head.load(); n != nullptr && left <= nodes.size(); n = n->below.load()) ++left;
    EXPECT_EQ(left, nodes.size());
}

// A queue of created and destroyed nodes. The allocator gives the address of a destroyed node to a new one. Every node
// stores its number twice; a transaction that mixes the old and the new node at an address sees a difference.
TEST_P(aba_test, detects_a_reused_address) {
    struct node {
        explicit node(std::uint64_t n) : number{n}, check{~n} {}
        var<std::uint64_t> number, check;
        var<node*> next{nullptr};
    };
    const std::size_t each = rounds(500);
    var<node*> first{nullptr};
    var<std::uint64_t> made{0};
    violations mixed;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        support::random dice{me};
        for (std::size_t i = 0; i < each; ++i) {
            const bool grow = dice.one_in(2);
            run(mine, [&](tx& t) {
                unsigned length = 0;
                for (node* n = first.get(t); n != nullptr; n = n->next.get(t), ++length) {
                    mixed.expect(n->number.get(t) == ~n->check.get(t));
                }
                if (length == 0 || (grow && length < 6)) {
                    const std::uint64_t number = made.get(t) + 1;
                    made.set(t, number);
                    node* const fresh = create<node>(t, number);
                    fresh->next.set(t, first.get(t));
                    first.set(t, fresh);
                } else {
                    node* const old = first.get(t);
                    first.set(t, old->next.get(t));
                    destroy(t, old);
                }
            });
        }
    });
    EXPECT_EQ(mixed.count(), 0);
    for (node* n = first.load(); n != nullptr;) delete std::exchange(n, n->next.load());
}

TUTTI_IN_EVERY_FLAVOUR(aba_test);

}  // namespace
}  // namespace tutti::anomalies
