// Answers a program's queries about its transaction, and excludes memory from a roll-back.
#include <cstdio>
#include <cstdlib>

#include "api/aligned_pieces.hpp"
#include "itm/access.hpp"

namespace {

using namespace tutti::itm;

constexpr int version_number = 90;

const descriptor* running() noexcept {
    const auto* const d = static_cast<const descriptor*>(tutti::detail::current_transaction);
    return d != nullptr && d->running() ? d : nullptr;
}

bool runs_in_hardware() noexcept {
    const auto* const d = static_cast<const descriptor*>(tutti::detail::current_transaction);
    return d != nullptr && has_runtime_state(*d) && runtime_state_of(*d).hardware.is_running();
}

/// Removes bytes from the log, so that a roll-back does not restore them.
void exclude_from_rollback(descriptor& d, const void* at, unsigned size) noexcept {
    for (tutti::memory::write_entry& e : d.writes) {
        if (e.address == word_of(at)) e.bytes = static_cast<std::uint8_t>(e.bytes & ~bytes_of(at, size));
    }
}

}  // namespace

TUTTI_ITM int _ITM_versionCompatible(int version) noexcept { return version == version_number ? 1 : 0; }

TUTTI_ITM const char* _ITM_libraryVersion() noexcept { return "Tutti " TUTTI_VERSION_STRING ", TM ABI 0.90"; }

TUTTI_ITM std::uint32_t _ITM_inTransaction() noexcept {
    if (runs_in_hardware()) return retryable;
    const descriptor* const d = running();
    if (d == nullptr) return outside;
    return d->must_commit() ? irrevocable : retryable;
}

TUTTI_ITM std::uint64_t _ITM_getTransactionId() noexcept {
    if (runs_in_hardware()) hardware_context::leave();  // a hardware attempt has no number, so it ends
    const descriptor* const d = running();
    return d != nullptr && is_block(d->frame_) ? innermost(*d).id : no_transaction;
}

TUTTI_ITM void _ITM_dropReferences(void* at, std::size_t size) noexcept {
    descriptor& d = current();
    if (d.writes.empty()) return;
    tutti::api::for_each_piece(reinterpret_cast<std::uintptr_t>(at), size,
                               [&d](std::uintptr_t piece_at, unsigned piece) {
                                   exclude_from_rollback(d, reinterpret_cast<const void*>(piece_at), piece);
                               });
}

/// The fields of the ABI's source location that this file reads.
struct source_location {
    std::uint32_t reserved_1;
    std::uint32_t flags;
    std::uint32_t reserved_2;
    std::uint32_t reserved_3;
    const char* source;
};

extern "C" [[noreturn]] TUTTI_EXPORT void _ITM_error(const source_location* where, int code) noexcept {
    char message[256];
    std::snprintf(message, sizeof message, "the compiled program reports error %d%s%s", code,
                  where != nullptr && where->source != nullptr ? " at " : "",
                  where != nullptr && where->source != nullptr ? where->source : "");
    tutti::api::panic(message);
}
