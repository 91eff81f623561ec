// Sorted linked lists whose nodes are created and destroyed all the time and contain a checksum. Nodes move between the
// lists, and each list stores its size.
#include <array>

#include "torture/scenario.hpp"

namespace tutti::torture {
namespace {

constexpr long keys = 64;

struct node {
    explicit node(long k) : key{k}, check{~k} {}
    ~node() { check = 0; }  // a reader that is too late notices it
    long key;
    long check;
    var<long> visits{0};
    var<node*> next{nullptr};
};

struct list {
    var<node*> head{nullptr};
    var<long> size{0};
};

class lists final : public scenario {
public:
    ~lists() override {
        for (auto& l : lists_) {
            for (node* n = l.head.load(); n != nullptr;) delete std::exchange(n, n->next.load());
        }
    }
    [[nodiscard]] const char* name() const override { return "list"; }

    void step(support::random& dice) override {
        const manner how = manner::draw(dice);
        list& here = lists_[dice.below(lists_.size())];
        list& there = lists_[dice.below(lists_.size())];
        const auto key = static_cast<long>(dice.below(keys));
        switch (dice.below(5)) {
            case 0: run(how, {.name = "list insert"}, [&](tx& t) { insert(t, here, key); }); break;
            case 1: run(how, {.name = "list erase"}, [&](tx& t) { erase(t, here, key); }); break;
            case 2:
                run(how, {.name = "list check", .read_only = dice.one_in(2)}, [&](tx& t) { check(t, here); });
                break;
            case 3:
                run(how, {.name = "list move"}, [&](tx& t) {
                    if (erase(t, here, key)) insert(t, there, key);
                    if (key == 1) throw staged_failure{};
                });
                break;
            default:
                run(how, {.name = "list visit"}, [&](tx& t) {
                    for (node* n = here.head.get(t); n != nullptr; n = n->next.get(t)) {
                        n->visits.set(t, n->visits.get(t) + 1);
                    }
                });
        }
    }

    std::string audit() override {
        atomically([&](tx& t) {
            for (auto& l : lists_) check(t, l);
        });
        return {};
    }

private:
    void require(bool held, const char* what) {
        if (!held) violated(name(), what);
    }

    /// Returns the link to the first node that is not below `key`.
    var<node*>& find(tx& t, list& l, long key) {
        var<node*>* link = &l.head;
        for (node* n = link->get(t); n != nullptr && n->key < key; n = link->get(t)) {
            require(n->check == ~n->key, "a block found a destroyed node");
            link = &n->next;
        }
        return *link;
    }
    void insert(tx& t, list& l, long key) {
        var<node*>& link = find(t, l, key);
        node* const after = link.get(t);
        if (after != nullptr && after->key == key) return;
        node* const fresh = create<node>(t, key);
        fresh->next.set(t, after);
        link.set(t, fresh);
        l.size.set(t, l.size.get(t) + 1);
    }
    bool erase(tx& t, list& l, long key) {
        var<node*>& link = find(t, l, key);
        node* const n = link.get(t);
        if (n == nullptr || n->key != key) return false;
        link.set(t, n->next.get(t));
        destroy(t, n);
        l.size.set(t, l.size.get(t) - 1);
        return true;
    }
    void check(tx& t, list& l) {
        long size = 0, last = -1;
        for (node* n = l.head.get(t); n != nullptr; n = n->next.get(t)) {
            require(n->check == ~n->key, "a block sees a destroyed node");
            require(n->key > last, "a list is out of order");
            last = n->key;
            ++size;
        }
        require(size == l.size.get(t), "the length of a list differs from its stored size");
    }

    std::array<list, 3> lists_;
};

}  // namespace

std::unique_ptr<scenario> make_list() { return std::make_unique<lists>(); }

}  // namespace tutti::torture
