/// @file
/// Why transactions end without an effect, and the exceptions that users see.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "tutti/detail/config.hpp"

namespace tutti {

/// Why an attempt to run an atomic block was rolled back. One list for the API, statistics, probes and logs.
enum class abort_cause : std::uint8_t {
    none,                    ///< it was not
    conflict_read_locked,    ///< read a record that another transaction was writing
    conflict_write_locked,   ///< wrote a record that another transaction was writing
    conflict_visible_read,   ///< wrote a record that a visible reader had marked
    conflict_abstract_lock,  ///< waited in vain for an abstract lock
    validation,              ///< something read had changed when the snapshot was extended or at commit
    read_only_overtaken,     ///< an unlogged read-only attempt met a newer version; it runs again
    killed,                  ///< another transaction asked it to die
    irrevocable_switch,      ///< it asked to become irrevocable while it could not; it runs again as such
    mode_switch,             ///< it needs a stricter mode (logged, visible) from its start
    explicit_retry,          ///< `retry`: waits until something it read changes
    explicit_restart,        ///< `restart`: runs again at once
    explicit_cancel,         ///< `cancel`: left without effect
    exception,               ///< an exception left the block
    participant_veto,        ///< a participant voted against the commit
    allocation,              ///< memory for the transaction's own logs ran out
    usage,                   ///< an error of use was diagnosed
};

inline constexpr std::size_t abort_cause_count = static_cast<std::size_t>(abort_cause::usage) + 1;

/// The enumerator's name, as statistics print it. Never fails.
[[nodiscard]] TUTTI_EXPORT std::string_view name_of(abort_cause cause) noexcept;

/// An error of use: what was called where it may not be, and what to do instead. The transaction was rolled back.
class TUTTI_EXPORT usage_error : public std::logic_error {
public:
    using std::logic_error::logic_error;
    ~usage_error() override;
};

/// Thrown by `atomically` when its block called `cancel`. The block had no effect. `try_atomically` returns instead.
class TUTTI_EXPORT cancelled : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override;
};

/// Thrown by `atomically` before an attempt that could not meet the block's deadline, if `options::when_missed` is
/// `refuse`. The block had no effect.
class TUTTI_EXPORT deadline_missed : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override;
};

namespace detail {

/// What a restart throws through the user's frames so that their destructors run. Deliberately not a
/// std::exception, so that `catch (const std::exception&)` in a body lets it pass; a body that swallows it with
/// `catch (...)` meets it again at its next barrier or at commit.
struct TUTTI_EXPORT unwind {};

}  // namespace detail
}  // namespace tutti
