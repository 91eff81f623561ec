/// @file
/// What a reference and the node of its own process share beside an object's bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tutti/cluster/id.hpp"

namespace tutti::cluster::detail {

/// A value that travels as it lies in memory, behind the word that names its type.
struct image {
    void* at;  ///< null: no such value
    std::size_t size;
    std::uint64_t tag;
    [[nodiscard]] constexpr bool exists() const noexcept { return at != nullptr; }
};

/// Nothing comes between two steps of a look: tests have others.
struct undisturbed {
    static void before_load() noexcept {}
    [[nodiscard]] static constexpr bool trusts_what_it_got() noexcept { return false; }
};

/// A small object as blocks of its own process may see it without a call: under a sequence lock, whose word is the
/// object's lock, too. What changes it is the library's alone (src/cluster/directory/shown.hpp, where W1 to W5 are).
///
/// A look loads the word, then what it is after, and then the word again. All loads but the last are acquire: one that
/// finds what a writer has stored synchronizes with the release fence between the writer's step that closed the word
/// and that store (W1), so the last load finds another word; and what the first finds open was stored before (W2).
///
/// Thread safety: every member, for as long as the node.
class alignas(64) showcase {
public:
    /// Bytes of an object that is small, with the word in front that names its type.
    static constexpr std::size_t most = 88;  // it fills two lines
    static constexpr std::size_t part_size = sizeof(std::uint64_t);

    /// The object's value goes where that image is, if it exists, has that tag and size, and no version beyond `time`.
    /// `word` and `version` are what it had then; false: what was written means nothing. O(bytes).
    template <std::size_t Size, class Between = undisturbed>
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool see(const object_id& id, const std::uint64_t& time, const image& to,
                                               std::uint64_t& word, std::uint64_t& version) const noexcept {
        return look<Between>(id, word, [&]() __attribute__((always_inline)) {
            version = get<Between>(version_);
            if (version > time || get<Between>(shape_) != shape_of(true, Size + sizeof to.tag) ||
                get<Between>(parts_[0]) != to.tag) [[unlikely]]
                return false;
            load_parts<Between>(1, static_cast<char*>(to.at), Size);
            return true;
        });
    }

protected:
    static constexpr std::uint64_t closed = 1, guarded = 2, step = 4;

    template <class Between>
    [[nodiscard]] TUTTI_ALWAYS_INLINE static std::uint64_t get(const std::atomic<std::uint64_t>& from) noexcept {
        Between::before_load();
        return from.load(std::memory_order_acquire);
    }
    /// `take` loads by `get` what is wanted, or says that it is not. False also if it is another object's, or closed.
    template <class Between, class Take>
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool look(const object_id& id, std::uint64_t& word, Take&& take) const {
        const std::uint64_t before = get<Between>(word_);
        if ((before & closed) != 0 || get<Between>(low_) != id.low || get<Between>(high_) != id.high) [[unlikely]]
            return false;
        word = before;
        if (!take()) [[unlikely]]
            return false;
        Between::before_load();
        return word_.load(std::memory_order_relaxed) == before || Between::trusts_what_it_got();
    }
    [[nodiscard]] static constexpr std::uint64_t shape_of(bool exists, std::size_t size) noexcept {
        return size << 1 | (exists ? 1 : 0);
    }
    template <class Between>
    TUTTI_ALWAYS_INLINE void load_parts(std::size_t first, char* to, std::size_t bytes) const noexcept {
        for_parts(bytes, [&](std::size_t i, std::size_t at, std::size_t size) __attribute__((always_inline)) {
            const std::uint64_t part = get<Between>(parts_[first + i]);
            copy_some(to + at, reinterpret_cast<const char*>(&part), size);
        });
    }
    /// Calls f(its number, where it begins, its size) for each part of so many bytes.
    template <class F>
    TUTTI_ALWAYS_INLINE static void for_parts(std::size_t bytes, F&& f) {
        const std::size_t wholes = bytes / part_size, rest = bytes % part_size;
        for (std::size_t i = 0; i != wholes; ++i) f(i, i * part_size, part_size);
        if (rest != 0) f(wholes, wholes * part_size, rest);
    }
    /// Without a call, which would make its caller keep registers. REQUIRES: no more than a part.
    TUTTI_ALWAYS_INLINE static void copy_some(char* to, const char* from, std::size_t bytes) noexcept {
        if (bytes == part_size) {
            std::memcpy(to, from, part_size);
            return;
        }
        static_assert(part_size == 8);
        if ((bytes & 4) != 0) std::memcpy(to, from, 4);
        if ((bytes & 2) != 0) std::memcpy(to + (bytes & 4), from + (bytes & 4), 2);
        if ((bytes & 1) != 0) to[bytes - 1] = from[bytes - 1];
    }

    std::atomic<std::uint64_t> word_{closed};
    std::atomic<std::uint64_t> high_{0}, low_{0};  ///< whose it is
    std::atomic<std::uint64_t> version_{0};
    std::atomic<std::uint64_t> shape_{0};  ///< its size, and whether it exists
    std::array<std::atomic<std::uint64_t>, most / part_size> parts_{};
};

/// Where a node of this process has shown an object that was opened by this reference. It promises nothing: the
/// one that follows it compares the name that is written there. Any thread.
class hint {
public:
    hint() noexcept = default;
    hint(const hint& from) noexcept : at_{from.get()} {}
    hint& operator=(const hint& from) noexcept {
        set(from.get());
        return *this;
    }
    /// Acquire, with the release in set: what lies there was made before.
    [[nodiscard]] showcase* get() const noexcept { return at_.load(std::memory_order_acquire); }
    void set(showcase* at) noexcept { at_.store(at, std::memory_order_release); }

private:
    std::atomic<showcase*> at_{nullptr};
};

}  // namespace tutti::cluster::detail
