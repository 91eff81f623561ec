// A sorted set as a linked list: transactions create and destroy nodes, and no reader ever has a dangling pointer.
#include <array>
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>

class sorted_set {
public:
    ~sorted_set() {
        for (node* n = head_.load(); n != nullptr;) delete std::exchange(n, n->next.load());
    }
    void insert(int key) {
        tutti::atomically([&](tutti::tx& t) {
            tutti::var<node*>& link = find(t, key);
            node* const after = link.get(t);
            if (after != nullptr && after->key == key) return;
            link.set(t, tutti::create<node>(t, key, after));  // freed again if the block is rolled back
        });
    }
    void erase(int key) {
        tutti::atomically([&](tutti::tx& t) {
            tutti::var<node*>& link = find(t, key);
            node* const found = link.get(t);
            if (found == nullptr || found->key != key) return;
            link.set(t, found->next.get(t));
            tutti::destroy(t, found);  // freed after the commit, when no transaction can still see it
        });
    }
    int size() const {
        int count = 0;
        for (const node* n = head_.load(); n != nullptr; n = n->next.load()) ++count;
        return count;  // no other thread exists any more
    }

private:
    struct node {
        node(int k, node* n) : key{k}, next{n} {}
        const int key;
        tutti::var<node*> next;
    };
    tutti::var<node*>& find(tutti::tx& t, int key) {
        tutti::var<node*>* link = &head_;
        for (node* n = link->get(t); n != nullptr && n->key < key; n = link->get(t)) link = &n->next;
        return *link;
    }
    tutti::var<node*> head_{nullptr};
};

int main() {
    sorted_set set;
    std::array<std::jthread, 4> threads;
    for (int k = 0; k < 4; ++k) {
        threads[static_cast<std::size_t>(k)] = std::jthread{[&set, k] {
            for (int i = k; i < 200; i += 4) set.insert(i);
            for (int i = k; i < 200; i += 8) set.erase(i);
        }};
    }
    for (auto& thread : threads) thread.join();
    std::printf("%d of 200 keys are left\n", set.size());
    return set.size() == 100 ? 0 : 1;
}
