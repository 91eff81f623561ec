/// @file
/// The data that a reference shares with the node of its process, besides an object's bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tutti/cluster/id.hpp"

namespace tutti::cluster::detail {

/// A value that is serialized as its bytes in memory, after the word that names its type.
struct typed_bytes {
    void* at;  ///< null: the value is not serialized in this way
    std::size_t size;
    std::uint64_t tag;
    [[nodiscard]] constexpr bool exists() const noexcept { return at != nullptr; }
};

/// Does nothing between two steps of a read. Tests replace this type by types that run code between the steps.
struct no_interleaving {
    static void before_load() noexcept {}
    [[nodiscard]] static constexpr bool skips_recheck() noexcept { return false; }
};

/// A small object that blocks of its own process can read without a call into the library. A sequence lock protects the
/// object. The word of this lock is also the lock that writers of the object take. Only the library changes the object
/// (src/cluster/directory/seqlock_object.hpp, which states SEQ1 to SEQ5).
///
/// A read loads the word, then the object's data, and then the word again. All loads but the last are acquire loads.
/// The writer locks the word, executes a release fence, and then stores the new data. A load that reads new data
/// synchronizes with this fence (SEQ1), so the last load reads a changed word. A read that finds the word unlocked sees
/// every store that came before the word was unlocked (SEQ2).
///
/// Thread safety: you can call every member from any thread, as long as the node lives.
class alignas(64) seqlock_object_base {
public:
    /// Size limit of a small object, in bytes, including the word in front that names its type.
    static constexpr std::size_t max_size = 88;  // with this size, a seqlock object fills two cache lines
    static constexpr std::size_t part_size = sizeof(std::uint64_t);

    /// Copies the object's value into `to` and sets `word` and `version` to the object's lock word and version.
    /// Succeeds only if the object exists, has the tag and size of `to`, and has a version of at most `time`. Otherwise
    /// returns false, and leaves `to`, `word` and `version` with meaningless contents. O(bytes).
    template <std::size_t Size, class Between = no_interleaving>
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool try_read(const object_id& id, const std::uint64_t& time,
                                                    const typed_bytes& to, std::uint64_t& word,
                                                    std::uint64_t& version) const noexcept {
        return read_consistently<Between>(id, word, [&]() __attribute__((always_inline)) {
            version = load<Between>(version_);
            if (version > time || load<Between>(shape_) != shape_of(true, Size + sizeof to.tag) ||
                load<Between>(parts_[0]) != to.tag) [[unlikely]]
                return false;
            load_parts<Between>(1, static_cast<char*>(to.at), Size);
            return true;
        });
    }

protected:
    static constexpr std::uint64_t write_locked = 1, guarded = 2, step = 4;

    template <class Between>
    [[nodiscard]] TUTTI_ALWAYS_INLINE static std::uint64_t load(const std::atomic<std::uint64_t>& from) noexcept {
        Between::before_load();
        return from.load(std::memory_order_acquire);
    }
    /// Calls `take`, which loads the wanted data by `load`, and returns false if it rejects these data. Returns false
    /// if `take` returns false, if the word is locked for writing, if the seqlock object holds another object, or if
    /// the word has changed meanwhile.
    template <class Between, class Take>
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool read_consistently(const object_id& id, std::uint64_t& word,
                                                             Take&& take) const {
        const std::uint64_t before = load<Between>(word_);
        if ((before & write_locked) != 0 || load<Between>(low_) != id.low || load<Between>(high_) != id.high)
            [[unlikely]]
            return false;
        word = before;
        if (!take()) [[unlikely]]
            return false;
        Between::before_load();
        return word_.load(std::memory_order_relaxed) == before || Between::skips_recheck();
    }
    [[nodiscard]] static constexpr std::uint64_t shape_of(bool exists, std::size_t size) noexcept {
        return size << 1 | (exists ? 1 : 0);
    }
    template <class Between>
    TUTTI_ALWAYS_INLINE void load_parts(std::size_t first, char* to, std::size_t bytes) const noexcept {
        for_each_part(bytes, [&](std::size_t i, std::size_t at, std::size_t size) __attribute__((always_inline)) {
            const std::uint64_t part = load<Between>(parts_[first + i]);
            copy_bytes(to + at, reinterpret_cast<const char*>(&part), size);
        });
    }
    /// Calls f(number, offset, size) for each part of a value of this many bytes.
    template <class F>
    TUTTI_ALWAYS_INLINE static void for_each_part(std::size_t bytes, F&& f) {
        const std::size_t wholes = bytes / part_size, rest = bytes % part_size;
        for (std::size_t i = 0; i != wholes; ++i) f(i, i * part_size, part_size);
        if (rest != 0) f(wholes, wholes * part_size, rest);
    }
    /// Copies without a function call, because a call would force the caller to save registers. REQUIRES: `bytes` is at
    /// most `part_size`.
    TUTTI_ALWAYS_INLINE static void copy_bytes(char* to, const char* from, std::size_t bytes) noexcept {
        if (bytes == part_size) {
            std::memcpy(to, from, part_size);
            return;
        }
        static_assert(part_size == 8);
        if ((bytes & 4) != 0) std::memcpy(to, from, 4);
        if ((bytes & 2) != 0) std::memcpy(to + (bytes & 4), from + (bytes & 4), 2);
        if ((bytes & 1) != 0) to[bytes - 1] = from[bytes - 1];
    }

    std::atomic<std::uint64_t> word_{write_locked};
    std::atomic<std::uint64_t> high_{0}, low_{0};  ///< the object's id
    std::atomic<std::uint64_t> version_{0};
    std::atomic<std::uint64_t> shape_{0};  ///< size of the object, and whether the object exists
    std::array<std::atomic<std::uint64_t>, max_size / part_size> parts_{};
};

/// A cached pointer to the seqlock object in which a node of this process holds the reference's object. The pointer may
/// be stale, so its user compares the object's id with the id in the seqlock object. Thread safety: any thread.
class location_hint {
public:
    location_hint() noexcept = default;
    location_hint(const location_hint& from) noexcept : at_{from.get()} {}
    location_hint& operator=(const location_hint& from) noexcept {
        set(from.get());
        return *this;
    }
    /// Acquire. Pairs with the release in `set`: the caller sees a fully constructed seqlock object.
    [[nodiscard]] seqlock_object_base* get() const noexcept { return at_.load(std::memory_order_acquire); }
    void set(seqlock_object_base* at) noexcept { at_.store(at, std::memory_order_release); }

private:
    std::atomic<seqlock_object_base*> at_{nullptr};
};

}  // namespace tutti::cluster::detail
