// What this node's own transactions may see of an object, and write, without the lock of its shard, while nobody else
// has it locked for writing and it is small; how it lies there, and how they look at it, is tutti/cluster/local.hpp. A
// sequence lock (Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012), whose word is
// the object's lock, too. It is *closed* while the object changes, is locked for writing, or is not here; it is
// *guarded* while more than its bytes would have to be looked at to write it.
//
//   W1  A writer closes the word, and then stores what changes; the release fence behind close() keeps them in that
//       order. Partners: the acquire loads in showcase::look, between its two of the word. A look that has got
//       anything new finds another word when it compares.
//   W2  A writer stores the open word with release. Partners: the acquire load of it in showcase::look, and close(),
//       which find all that was stored before.
//   W3  A commit closes it before it draws its version, by a step of the clock. A look has read the clock before it
//       compares the word: between its two loads of it, or when its attempt began. Steps of the clock are
//       read-modify-writes in one order, and seq_cst; a look that finds the version or more has synchronized with the
//       step that drew it, here, or by the messages that have brought it, so it finds the closed word when it compares.
//       So what a look has got was current, and locked by nobody for writing, at a moment when the clock said what the
//       look has found it to say, or more; the commit that replaces it has a higher version than that.
//   W4  Its memory stays what it is for as long as the store: an entry that is dropped gives it to another one. Its
//       name changes while the word is closed, behind the fence of W1; a look compares it between its two loads of the
//       word.
//   W5  A word never comes again once its object has changed, been locked for writing, or become guarded or free: so a
//       word that is still what it was at a look says that the object is, too, and a commit that closes it in one step
//       from there may write it. Steps that close, and looks of a commit that has closed words at others, are seq_cst:
//       of two commits that have each read what the other one writes, one finds the other's word closed.
//
// Thread safety: show, reopen, lay_aside and take_up by the thread that has closed it; close by the one that holds the
// lock of the shard; the others by every thread. A commit that has closed it without that lock waits for nothing until
// it has opened it again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include "cluster/protocol/clock.hpp"
#include "tutti/cluster/local.hpp"
#include "tutti/detail/config.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

class shown : public detail::showcase {
public:
    /// The word of one that is closed, and was never open.
    static constexpr std::uint64_t nothing = closed;
    /// Whether a commit that has seen that word may write the object in place.
    [[nodiscard]] static bool is_free(std::uint64_t word) noexcept {
        return (word & (broken(fault::in_place_beside_others) ? closed : closed | guarded)) == 0;
    }

    /// Waits until nobody else has closed it. REQUIRES: it is open, or closed by a commit in place alone.
    void close() noexcept {
        constexpr unsigned most_looks = 64;  // in a row; the commit that has it may have lost the processor
        for (unsigned turn = 1;; ++turn) {
            std::uint64_t w = word_.load(std::memory_order_relaxed);
            if ((w & closed) == 0 && word_.compare_exchange_strong(w, w | closed, std::memory_order_seq_cst)) break;
            if (turn % most_looks == 0) std::this_thread::yield();
        }
        std::atomic_thread_fence(std::memory_order_release);  // W1
    }
    /// W5. False: the object is no longer what it was when that word was seen. REQUIRES: is_free(seen)
    [[nodiscard]] bool close_if(std::uint64_t seen) noexcept {
        if (!word_.compare_exchange_strong(seen, seen | closed, std::memory_order_seq_cst)) return false;
        std::atomic_thread_fence(std::memory_order_release);  // W1
        return true;
    }
    /// W5. Whether the object is still what it was when that word was seen.
    [[nodiscard]] bool is_still(std::uint64_t seen) const noexcept {
        return word_.load(std::memory_order_seq_cst) == seen;
    }
    /// REQUIRES: nothing has changed.
    void reopen() noexcept { word_.store(word_.load(std::memory_order_relaxed) & ~closed, std::memory_order_release); }
    /// REQUIRES: bytes.size() <= most
    void show(bool exists, std::uint64_t version, const std::string& bytes, bool guard) noexcept {
        store_head(exists, version, bytes.size());
        store_parts(0, bytes.data(), bytes.size());
        open(guard);
    }
    /// The same of an object that exists and is free.
    void show(std::uint64_t version, const detail::image& what) noexcept {
        store_head(true, version, sizeof what.tag + what.size);
        parts_[0].store(what.tag, std::memory_order_relaxed);
        store_parts(1, static_cast<const char*>(what.at), what.size);
        open(false);
    }
    /// It is nobody's from now on; what is nobody's leads to what was before.
    void lay_aside(shown* before) noexcept {
        version_.store(reinterpret_cast<std::uintptr_t>(before), std::memory_order_relaxed);
    }
    /// W4. It is to be that object's, and stays closed. Returns what was laid aside before.
    shown* take_up(const object_id& whose) noexcept {
        high_.store(whose.high, std::memory_order_relaxed);
        low_.store(whose.low, std::memory_order_relaxed);
        return reinterpret_cast<shown*>(static_cast<std::uintptr_t>(version()));
    }

    /// What it shows, for the thread that has closed it.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t size() const noexcept { return shape_.load(std::memory_order_relaxed) >> 1; }
    void copy_to(std::string& bytes) const { copy(size(), bytes); }

    /// The object, as a look with the lock has it, but for `where` and the owner, and the word that it had. False: not
    /// shown, or another one's by now; what the view says is nothing then. O(bytes). Throws std::bad_alloc.
    [[nodiscard]] bool see(const object_id& id, const logical_clock& clock, wire::object_view& view,
                           std::uint64_t& word) const {
        return look<faulty>(id, word, [&] {
            view.valid_at = clock.now();  // W3
            view.version = get<faulty>(version_);
            const std::uint64_t shape = get<faulty>(shape_);
            view.exists = shape % 2 != 0;
            copy(shape >> 1, view.bytes);
            return true;
        });
    }
    /// The same, its value where that image is, and no bytes in the view. False also if it has another image.
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool see(const object_id& id, const logical_clock& clock, const detail::image& to,
                                               wire::object_view& view, std::uint64_t& word) const noexcept {
        return look<faulty>(id, word, [&]() __attribute__((always_inline)) {
            view.valid_at = clock.now();  // W3
            view.version = get<faulty>(version_);
            // A value has a size. What exists has the word of its type at the least, so what has that shape exists.
            if (to.size == 0 || get<faulty>(shape_) != shape_of(true, to.size + sizeof to.tag) ||
                get<faulty>(parts_[0]) != to.tag) [[unlikely]]
                return false;
            view.exists = true;
            load_parts<faulty>(1, static_cast<char*>(to.at), to.size);
            return true;
        });
    }

private:
    struct faulty {
        static void before_load() noexcept { invite_others(fault::look_through_changes); }
        [[nodiscard]] static bool trusts_what_it_got() noexcept { return broken(fault::look_through_changes); }
    };

    TUTTI_NOINLINE void copy(std::size_t size, std::string& to) const {
        if (to.size() != size) to.resize(size);
        load_parts<faulty>(0, to.data(), size);
    }
    void open(bool guard) noexcept {
        const std::uint64_t next_word = (word_.load(std::memory_order_relaxed) / step + 1) * step;
        word_.store(next_word | (guard ? guarded : 0), std::memory_order_release);  // W2, W5
    }
    void store_head(bool exists, std::uint64_t version, std::size_t size) noexcept {
        version_.store(version, std::memory_order_relaxed);
        shape_.store(shape_of(exists, size), std::memory_order_relaxed);
    }
    void store_parts(std::size_t first, const char* from, std::size_t bytes) noexcept {
        for_parts(bytes, [&](std::size_t i, std::size_t at, std::size_t size) {
            std::uint64_t part = 0;
            std::memcpy(&part, from + at, size);
            parts_[first + i].store(part, std::memory_order_relaxed);
        });
    }
};

}  // namespace tutti::cluster
