// What this node's own transactions may see of an object without the lock of its shard: the object as it is now, for as
// long as nobody changes it, or has it locked for writing, and it is small. A sequence lock (Boehm, "Can seqlocks get
// along with programming language memory models?", MSPC 2012): `word_` is even while the object is shown.
//
//   W1  A writer that hides it stores an odd word, and then what changes; the release fence in hide() keeps them in
//       that order. Partner: the acquire fence in see(). A look that has got anything new finds the odd word, or a
//       later one, when it compares.
//   W2  A writer that shows it stores the even word with release. Partner: the acquire load of it in see(), which finds
//       all that was stored before.
//   W3  A commit hides it before it draws its version, by a step of the clock. A look reads the clock between its two
//       looks at the word. Steps of the clock are read-modify-writes in one order, and seq_cst; a look that
//       finds the version or more has synchronized with the step that drew it, here, or by the messages that have
//       brought it, so it finds the odd word when it compares. So what a look has got was current, and locked by nobody
//       for writing, at a moment when the clock said `valid_at`; the commit that replaces it has a higher version.
//   W4  Its memory stays what it is for as long as the store: an entry that is dropped gives it to another one. Its
//       generation tells, which changes while the word is odd: see() looks at it between its two looks at the word.
//
// Thread safety: hide, show and pass_on under the lock of the shard, the others by every thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

#include "cluster/protocol/clock.hpp"
#include "tutti/detail/shared.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

class alignas(64) shown {
public:
    /// Bytes of an object that is small.
    static constexpr std::size_t most = 88;  // it fills two lines

    void hide() noexcept {
        const std::uint64_t w = word_.load(std::memory_order_relaxed);
        if (w % 2 == 0) word_.store(w + 1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);  // W1
    }
    /// REQUIRES: it is hidden; bytes.size() <= most
    void show(bool exists, std::uint64_t version, const std::string& bytes) noexcept {
        version_.store(version, std::memory_order_relaxed);
        shape_.store(bytes.size() << 1 | (exists ? 1 : 0), std::memory_order_relaxed);
        for_parts(bytes.size(), [&](std::size_t i, std::size_t at, std::size_t size) {
            std::uint64_t part = 0;
            std::memcpy(&part, bytes.data() + at, size);
            parts_[i].store(part, std::memory_order_relaxed);
        });
        word_.store(word_.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // W2
    }
    /// W4. It is to be another object's.
    void pass_on() noexcept {
        hide();
        generation_.store(generation() + 1, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_relaxed); }

    /// The object, as a look with the lock has it, but for `where` and the owner. False: not shown, or another one's by
    /// now; what the view says is nothing then. O(bytes). Throws std::bad_alloc.
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool see(std::uint64_t generation_then, const logical_clock& clock,
                                               wire::object_view& view) const {
        const std::uint64_t before = word_.load(std::memory_order_acquire);  // W2
        if (before % 2 != 0 || generation() != generation_then) return false;
        view.valid_at = clock.now();  // W3
        view.version = version_.load(std::memory_order_relaxed);
        const std::uint64_t shape = shape_.load(std::memory_order_relaxed);
        view.exists = shape % 2 != 0;
        const std::size_t size = shape >> 1;
        if (view.bytes.size() != size) view.bytes.resize(size);
        char* const to = view.bytes.data();
        for_parts(size, [&](std::size_t i, std::size_t at, std::size_t some) {
            const std::uint64_t part = parts_[i].load(std::memory_order_relaxed);
            std::memcpy(to + at, &part, some);
            invite_others(fault::look_through_changes);
        });
        std::atomic_thread_fence(std::memory_order_acquire);  // W1
        return word_.load(std::memory_order_relaxed) == before || broken(fault::look_through_changes);
    }

    shown* next = nullptr;  ///< the store's, of those that are nobody's

private:
    /// Calls f(its number, where it begins, its size) for each part of so many bytes.
    template <class F>
    static void for_parts(std::size_t bytes, F&& f) {
        constexpr std::size_t whole = sizeof(std::uint64_t);
        std::size_t i = 0;
        for (; (i + 1) * whole <= bytes; ++i) f(i, i * whole, whole);
        if (i * whole != bytes) f(i, i * whole, bytes - i * whole);
    }

    std::atomic<std::uint64_t> word_{1};
    std::atomic<std::uint64_t> generation_{0};
    std::atomic<std::uint64_t> version_{0};
    std::atomic<std::uint64_t> shape_{0};  ///< its size, and whether it exists
    std::array<std::atomic<std::uint64_t>, most / sizeof(std::uint64_t)> parts_{};
};

}  // namespace tutti::cluster
