/// @file
/// What a reference and the node of its own process share beside an object's bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tutti/detail/config.hpp"

namespace tutti::cluster::detail {

/// A value that travels as it lies in memory, behind the word that names its type.
struct image {
    void* at;  ///< null: no such value
    std::size_t size;
    std::uint64_t tag;
    [[nodiscard]] constexpr bool exists() const noexcept { return at != nullptr; }
};

/// Where a node of this process has shown an object that was opened by this reference. It promises nothing: the
/// node that follows it compares the name that is written there. Any thread.
class hint {
public:
    hint() noexcept = default;
    hint(const hint& from) noexcept : at_{from.get()} {}
    hint& operator=(const hint& from) noexcept {
        set(from.get());
        return *this;
    }
    /// Acquire, with the release in set: what lies there was made before.
    [[nodiscard]] void* get() const noexcept { return at_.load(std::memory_order_acquire); }
    void set(void* at) noexcept { at_.store(at, std::memory_order_release); }

private:
    std::atomic<void*> at_{nullptr};
};

}  // namespace tutti::cluster::detail
