// The shown part of an object, which this node's own transactions may read and write without the lock of its shard. An
// object is shown if it is small, and is not locked for writing. tutti/cluster/seqlock_object_base.hpp defines the
// layout and the read. The shown part is a sequence lock (Boehm, "Can seqlocks get along with programming language
// memory models?", MSPC 2012), whose word is also the object's lock. The word is *closed* while the object changes, is
// locked for writing, or is not here. The word is *guarded* while a write would have to check more than the object's
// bytes.
//
//   SEQ1  A writer closes the word, and then stores the changes. The release fence after begin_write() keeps this
//       order. Partners: the acquire loads in seqlock_object_base::read_consistently, between its two loads of the
//       word. A read that has read any new value finds another word when it compares.
//   SEQ2  A writer stores the open word with release. Partners: the acquire load of the word in
//       seqlock_object_base::read_consistently, and begin_write(). Both see all earlier stores.
//   SEQ3  A commit closes the word before it draws its version by a step of the clock. A read has read the clock before
//       it compares the word: between its two loads of the word, or when its attempt began. Steps of the clock are
//       seq_cst read-modify-writes in one order. Suppose a read finds a clock of the commit's version or more. Then the
//       read has synchronized with the step that drew the version, directly or by the messages that have brought this
//       clock. So the read finds the closed word when it compares. Hence the values that a read has read were current,
//       and not locked for writing, at some moment. At that moment, the clock was no less than the value that the read
//       has found. The commit that replaces these values has a higher version than that clock value.
//   SEQ4  The memory of a shown part keeps its type for as long as the directory exists. When an entry is dropped,
//       another entry may reuse its shown part. The part's name changes while the word is closed, after the fence of
//       SEQ1. A read compares the name between its two loads of the word.
//   SEQ5  A word never recurs once its object has changed, been locked for writing, or become guarded or free. So if
//       the word is unchanged since a read, the object is, too. A commit that closes the word in one step from that
//       value may write the object. Steps that close a word are seq_cst, and so are a commit's checks of other words
//       after it has closed some. Suppose two commits have each read what the other one writes. Then at least one of
//       them finds a word that the other one has closed.
//
// Thread safety: only the thread that has closed the word may call show, reopen, recycle and reuse. Only the holder of
// the shard's lock may call close. Any thread may call the other members. A commit that has closed the word without
// that lock does not wait before it opens the word again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include "cluster/ordering/clock.hpp"
#include "tutti/cluster/seqlock_object_base.hpp"
#include "tutti/detail/config.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

class seqlock_object : public detail::seqlock_object_base {
public:
    /// The word of a part that was never open. This word is closed.
    static constexpr std::uint64_t initial_word = write_locked;
    /// Returns true if a commit that has seen this word may write the object in place.
    [[nodiscard]] static bool allows_in_place_write(std::uint64_t word) noexcept {
        return (word & (injected(fault::in_place_ignores_guards) ? write_locked : write_locked | guarded)) == 0;
    }

    /// Closes the word. Waits while another thread keeps the word closed. REQUIRES: the word is open, or closed by an
    /// in-place commit.
    void begin_write() noexcept {
        constexpr unsigned max_tries = 64;  // before a yield: the thread that has closed the word may not be running
        for (unsigned turn = 1;; ++turn) {
            std::uint64_t w = word_.load(std::memory_order_relaxed);
            if ((w & write_locked) == 0 &&
                word_.compare_exchange_strong(w, w | write_locked, std::memory_order_seq_cst))
                break;
            if (turn % max_tries == 0) std::this_thread::yield();
        }
        std::atomic_thread_fence(std::memory_order_release);  // SEQ1
    }
    /// Closes the word if it is still `seen` (SEQ5). Returns false if the object has changed since `seen` was read.
    /// REQUIRES: allows_in_place_write(seen)
    [[nodiscard]] bool try_begin_write(std::uint64_t seen) noexcept {
        if (!word_.compare_exchange_strong(seen, seen | write_locked, std::memory_order_seq_cst)) return false;
        std::atomic_thread_fence(std::memory_order_release);  // SEQ1
        return true;
    }
    /// Returns true if the object is unchanged since `seen` was read (SEQ5).
    [[nodiscard]] bool is_unchanged_since(std::uint64_t seen) const noexcept {
        return word_.load(std::memory_order_seq_cst) == seen;
    }
    /// Opens the word again.
    /// REQUIRES: nothing has changed.
    void cancel_write() noexcept {
        word_.store(word_.load(std::memory_order_relaxed) & ~write_locked, std::memory_order_release);
    }
    /// REQUIRES: bytes.size() <= max_size
    void end_write(bool exists, std::uint64_t version, const std::string& bytes, bool guard) noexcept {
        store_head(exists, version, bytes.size());
        store_parts(0, bytes.data(), bytes.size());
        unlock(guard);
    }
    /// Shows an object that exists and is free.
    void end_write(std::uint64_t version, const detail::typed_bytes& what) noexcept {
        store_head(true, version, sizeof what.tag + what.size);
        parts_[0].store(what.tag, std::memory_order_relaxed);
        store_parts(1, static_cast<const char*>(what.at), what.size);
        unlock(false);
    }
    /// Puts this part on a list of unused ones, before `before`.
    void recycle(seqlock_object* before) noexcept {
        version_.store(reinterpret_cast<std::uintptr_t>(before), std::memory_order_relaxed);
    }
    /// Removes this part from the list, for use by the object `whose`, and leaves it closed (SEQ4). Returns the next
    /// unused part.
    seqlock_object* reuse(const object_id& whose) noexcept {
        high_.store(whose.high, std::memory_order_relaxed);
        low_.store(whose.low, std::memory_order_relaxed);
        return reinterpret_cast<seqlock_object*>(static_cast<std::uintptr_t>(version()));
    }

    /// Returns the version that is shown. Only the thread that has closed the word may call version, size and copy_to.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t size() const noexcept { return shape_.load(std::memory_order_relaxed) >> 1; }
    void copy_to(std::string& bytes) const { copy(size(), bytes); }

    /// Returns true, the word that was seen, and the same view as a read with the lock, except `where` and the owner.
    /// Returns false, with an invalid view, if the word is closed or the part shows another object by now. O(bytes).
    /// Throws std::bad_alloc.
    [[nodiscard]] bool try_read(const object_id& id, const logical_clock& clock, wire::object_view& view,
                                std::uint64_t& word) const {
        return read_consistently<faulty>(id, word, [&] {
            view.valid_at = clock.now();  // SEQ3
            view.version = load<faulty>(version_);
            const std::uint64_t shape = load<faulty>(shape_);
            view.exists = shape % 2 != 0;
            copy(shape >> 1, view.bytes);
            return true;
        });
    }

private:
    struct faulty {
        static void before_load() noexcept { yield_if_injected(fault::read_during_change); }
        [[nodiscard]] static bool skips_recheck() noexcept { return injected(fault::read_during_change); }
    };

    TUTTI_NOINLINE void copy(std::size_t size, std::string& to) const {
        if (to.size() != size) to.resize(size);
        load_parts<faulty>(0, to.data(), size);
    }
    void unlock(bool guard) noexcept {
        const std::uint64_t next_word = (word_.load(std::memory_order_relaxed) / step + 1) * step;
        word_.store(next_word | (guard ? guarded : 0), std::memory_order_release);  // SEQ2, SEQ5
    }
    void store_head(bool exists, std::uint64_t version, std::size_t size) noexcept {
        version_.store(version, std::memory_order_relaxed);
        shape_.store(shape_of(exists, size), std::memory_order_relaxed);
    }
    void store_parts(std::size_t first, const char* from, std::size_t bytes) noexcept {
        for_each_part(bytes, [&](std::size_t i, std::size_t at, std::size_t size) {
            std::uint64_t part = 0;
            std::memcpy(&part, from + at, size);
            parts_[first + i].store(part, std::memory_order_relaxed);
        });
    }
};

}  // namespace tutti::cluster
