// Counters that one thread writes and any thread reads: a single number, and a set of numbers by key.
//
// Thread safety: the owner is the only writer, and uses relaxed loads and stores. Other threads may read each number at
// any time. A keyed counter only grows, at its head. A thread that loads the head (acquire, partner: the release in
// keyed_counter::at) finds every earlier entry complete. If memory runs out, only counts are lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

namespace tutti::observe {

class counter {
public:
    void add(std::uint64_t amount) noexcept { value_.store(get() + amount, std::memory_order_relaxed); }
    void add_one() noexcept { add(1); }
    void take_one() noexcept { value_.store(get() - 1, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }
    void reset() noexcept { value_.store(0, std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// Counts by key. There should be few keys, because a key is a place in a program. Entries live as long as the counter,
/// and counters with entries live as long as the process.
template <class Key, class Count>
class keyed_counter {
public:
    keyed_counter() = default;
    keyed_counter(const keyed_counter&) = delete;
    keyed_counter& operator=(const keyed_counter&) = delete;

    /// Returns the count of a key. Only the owner may call this. If the key is new, calls `made(key)`, which must not
    /// throw. Returns null if memory runs out.
    template <class F>
    Count* at(const Key& key, F&& made) noexcept {
        for (entry* e = head_.load(std::memory_order_relaxed); e != nullptr; e = e->next) {
            if (e->key == key) return &e->count;
        }
        auto* const fresh = new (std::nothrow) entry{key, {}, head_.load(std::memory_order_relaxed)};
        if (fresh == nullptr) return nullptr;
        made(key);
        head_.store(fresh, std::memory_order_release);
        return &fresh->count;
    }
    Count* at(const Key& key) noexcept {
        return at(key, [](const Key&) {});
    }
    template <class F>
    void for_each(F&& f) const {
        for (const entry* e = head_.load(std::memory_order_acquire); e != nullptr; e = e->next) f(e->key, e->count);
    }
    /// Calls f(count) for each key. f may change the count.
    template <class F>
    void for_each_to_change(F&& f) noexcept {
        for (entry* e = head_.load(std::memory_order_acquire); e != nullptr; e = e->next) f(e->count);
    }

private:
    struct entry {
        Key key;
        Count count;
        entry* next;
    };
    std::atomic<entry*> head_{nullptr};
};

}  // namespace tutti::observe
