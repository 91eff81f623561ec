#include "memory/status_record.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>

namespace tutti::memory {
namespace {

constexpr std::uint32_t chunk_bits = 10;
constexpr std::uint32_t chunk_size = std::uint32_t{1} << chunk_bits;

using chunk = std::array<std::atomic<status_record*>, chunk_size>;

// The directory has two levels, because entries must not move while other threads read them.
constinit std::atomic<chunk*> directory[max_status_records / chunk_size];
constinit std::atomic<std::uint32_t> count{0};

}  // namespace

constinit const directory_view directory_for_debuggers{static_cast<const void*>(directory), &count, chunk_bits};

void register_status_record(status_record& a) {
    static std::mutex registration_mutex;
    const std::lock_guard guard{registration_mutex};
    const std::uint32_t id = count.load(std::memory_order_relaxed);
    if (id == max_status_records) throw std::length_error{"tutti: more than 1048576 threads run transactions at once"};
    std::atomic<chunk*>& first_of_chunk = directory[id >> chunk_bits];
    if (first_of_chunk.load(std::memory_order_relaxed) == nullptr)
        first_of_chunk.store(new chunk{}, std::memory_order_relaxed);
    a.id = id;
    (*first_of_chunk.load(std::memory_order_relaxed))[id & (chunk_size - 1)].store(&a, std::memory_order_relaxed);
    // Partner: the acquire in status_record_count(). A thread that sees the count also sees the entry.
    count.store(id + 1, std::memory_order_release);
}

std::uint32_t status_record_count() noexcept { return count.load(std::memory_order_acquire); }

status_record& status_record_of(std::uint32_t id) noexcept {
    // The loads may be relaxed in two cases. If the number was in an orec, a running transaction stored it there after
    // its registration, and the caller read the orec with acquire. If the number is below status_record_count(), the
    // acquire in that function suffices.
    return *(*directory[id >> chunk_bits].load(std::memory_order_relaxed))[id & (chunk_size - 1)].load(
        std::memory_order_relaxed);
}

}  // namespace tutti::memory
