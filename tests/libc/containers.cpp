// libstdc++'s lists, trees and hash tables, changed in atomic blocks that end in every way, and by two threads at a
// time. They are compared with the same containers changed by plain code. Plain code continues with containers that
// blocks have changed.
#include <list>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "libc/blocks.hpp"

namespace {

/// The action of a step, and its key.
struct step {
    unsigned what;
    int key;
};
using steps = std::vector<step>;

steps random_steps(std::mt19937& random, int keys) {
    steps all(1 + random() % 6);
    for (step& s : all)
        s = {static_cast<unsigned>(random() % 8), static_cast<int>(random() % static_cast<unsigned>(keys))};
    return all;
}

/// The bare tree, which can check that it is a red-black tree.
using bare_tree = std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>>;

void change(bare_tree& c, const step& s) {
    if (s.what < 5) c._M_insert_unique(s.key);
    else c.erase(s.key);
}
void change(std::map<int, long>& c, const step& s) {
    switch (s.what) {
        case 0:
        case 1: c[s.key] += 1 + s.key; break;
        case 2: c.emplace(s.key, -1); break;
        case 3: c.erase(s.key); break;
        case 4: {
            const auto at = c.lower_bound(s.key);
            if (at != c.end()) c.erase(at);
            break;
        }
        case 5:
            for (auto& [key, value] : c) value += key;
            break;
        case 6:
            if (!c.empty()) c.erase(--c.end());
            break;
        default:
            for (auto at = c.rbegin(); at != c.rend(); ++at) at->second += s.key;
    }
}
void change(std::multimap<int, long>& c, const step& s) {
    if (s.what < 5) c.emplace(s.key, static_cast<long>(s.what));
    else if (s.what == 5) c.erase(s.key);
    else if (s.what == 6 && !c.empty()) c.erase(c.begin());
    else if (s.key == 0) c.clear();
}
void change(std::set<std::string>& c, const step& s) {
    std::string text = "a string that has memory of its own ";
    text += std::to_string(s.key);
    if (s.what < 5) c.insert(text);
    else c.erase(text);
}
void change(std::list<int>& c, const step& s) {
    switch (s.what) {
        case 0:
        case 1: c.push_back(s.key); break;
        case 2: c.push_front(s.key); break;
        case 3: c.remove(s.key); break;
        case 4: c.reverse(); break;
        case 5: {
            std::list<int> other;
            other.push_back(s.key);
            other.push_back(-s.key);
            c.splice(c.begin(), other);
            other.swap(c);
            c.swap(other);
            break;
        }
        case 6:
            if (s.key == 0) c.clear();
            else if (!c.empty()) c.erase(c.begin());
            break;
        default:
            if (s.key % 2 == 0) c.sort();
            else if (!c.empty()) c.pop_back();
    }
}
void change(std::unordered_map<int, long>& c, const step& s) {
    switch (s.what) {
        case 0:
        case 1:
        case 2: c[s.key] += 1 + s.key; break;
        case 3: c.emplace(s.key, -1); break;
        case 4: c.erase(s.key); break;
        case 5: c.reserve(c.size() + 100); break;
        case 6:
            if (!c.empty()) c.erase(c.begin());
            break;
        default:
            if (s.key == 0) c.clear();
            else c.rehash(0);
    }
}
void change(std::unordered_set<std::string>& c, const step& s) {
    std::string text(static_cast<std::size_t>(s.key % 3 == 0 ? 700 : 7), 'x');
    text += std::to_string(s.key);
    if (s.what < 5) c.insert(text);
    else c.erase(text);
}

bool is_sound(const bare_tree& c) { return c.__rb_verify(); }
template <class C>
bool is_sound(const C&) {
    return true;
}
template <class C>
bool is_same(const C& a, const C& b) {
    return a == b;
}
/// Returns true if the elements have the same order, which restarts and cancelled blocks must not change.
template <class C>
bool goes_the_same_way(const C& a, const C& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

template <class C>
void agrees(int keys, bool in_order = true) {
    std::mt19937 random{17};
    C in_blocks, plain;
    for (int round = 0; round != 1500; ++round) {
        const steps what = random_steps(random, keys);
        const ending e = every_ending[random() % 4];
        run(e, [&] {
            for (const step& s : what) change(in_blocks, s);
        });
        if (e != ending::cancel) {
            for (const step& s : what) change(plain, s);
        }
        EXPECT(in_blocks.size() == plain.size() && is_same(in_blocks, plain) && is_sound(in_blocks));
        if (in_order) EXPECT(goes_the_same_way(in_blocks, plain));
        // Code outside of blocks changes containers that blocks have built.
        const step beside{static_cast<unsigned>(random() % 8),
                          static_cast<int>(random() % static_cast<unsigned>(keys))};
        change(in_blocks, beside);
        change(plain, beside);
        EXPECT(is_same(in_blocks, plain) && is_sound(in_blocks));
    }
}

/// Two threads move elements between containers. No element may be lost or doubled.
void crowd() {
    constexpr int elements = 64;
    std::map<int, int> ordered;
    std::unordered_map<int, int> hashed;
    std::list<int> listed;
    bare_tree bare;
    for (int i = 0; i != elements; ++i) ordered[i] = i;
    const auto work = [&](unsigned seed) {
        std::mt19937 random{seed};
        for (int i = 0; i != 2000; ++i) {
            const int key = static_cast<int>(random() % elements);
            run(i % 50 == 0 ? ending::restarts : ending::commit, [&] {
                if (ordered.erase(key) != 0) {
                    hashed[key] = key;
                    bare._M_insert_unique(key);
                } else if (hashed.erase(key) != 0) {
                    listed.push_back(key);
                } else if (!listed.empty()) {
                    ordered[listed.front()] = listed.front();
                    bare.erase(listed.front());
                    listed.pop_front();
                }
            });
        }
    };
    std::thread other{work, 1U};
    work(2);
    other.join();
    std::set<int> all;
    for (const auto& [key, value] : ordered) EXPECT(key == value && all.insert(key).second);
    for (const auto& [key, value] : hashed) EXPECT(key == value && all.insert(key).second);
    for (const int key : listed) EXPECT(all.insert(key).second);
    EXPECT(all.size() == elements && bare.__rb_verify() && bare.size() == elements - ordered.size());
}

}  // namespace

int main() {
    agrees<bare_tree>(100);
    agrees<bare_tree>(3);
    agrees<std::map<int, long>>(100);
    agrees<std::map<int, long>>(4);
    agrees<std::multimap<int, long>>(20);
    agrees<std::set<std::string>>(60);
    agrees<std::list<int>>(20);
    agrees<std::unordered_map<int, long>>(100, false);
    agrees<std::unordered_set<std::string>>(60, false);
    crowd();
}
