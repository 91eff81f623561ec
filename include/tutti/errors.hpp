/// @file
/// The causes of roll-backs, and the exceptions that users see.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tutti/c/abort_causes.h"
#include "tutti/detail/config.hpp"

namespace tutti {

/// The cause of an attempt's roll-back. The API, statistics, probes and logs share this list. tutti/c/abort_causes.h
/// explains each cause.
enum class abort_cause : std::uint8_t {
#define TUTTI_ENUMERATOR(name, NAME) name,
    TUTTI_ABORT_CAUSES(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
};

#define TUTTI_ONE_MORE(name, NAME) +1
inline constexpr std::size_t abort_cause_count = 0 TUTTI_ABORT_CAUSES(TUTTI_ONE_MORE);
#undef TUTTI_ONE_MORE

/// Returns the enumerator's name, as in statistics. Never fails.
[[nodiscard]] TUTTI_EXPORT std::string_view name_of(abort_cause cause) noexcept;

/// An error of use. The message names the call, the reason, and what to do instead. The transaction was rolled back.
class TUTTI_EXPORT usage_error : public std::logic_error {
public:
    using std::logic_error::logic_error;
    ~usage_error() override;
};

/// Thrown by `atomically` if its block called `cancel`. The block had no effect. `try_atomically` returns a result
/// instead.
class TUTTI_EXPORT cancelled : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override;
};

/// Thrown by `atomically` before an attempt that cannot meet the block's deadline, if `options::when_missed` is
/// `refuse`. The block had no effect.
class TUTTI_EXPORT deadline_missed : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override;
};

/// A node or an engine outside this process, which the block needs, is unreachable or has not answered in time.
class TUTTI_EXPORT unreachable_error : public std::runtime_error {
public:
    explicit unreachable_error(const std::string& what, bool outcome_known = true)
        : std::runtime_error{what}, outcome_known_{outcome_known} {}
    ~unreachable_error() override;
    /// Returns true if the block had no effect. Returns false if this is unknown: outside this process, the block had
    /// either all of its effects or none.
    [[nodiscard]] bool outcome_known() const noexcept { return outcome_known_; }

private:
    bool outcome_known_;
};

namespace detail {

/// The exception that a restart throws through the user's frames, so that their destructors run. It is not a
/// std::exception, so that `catch (const std::exception&)` in a body does not catch it. If a body swallows the
/// exception with `catch (...)`, the next barrier or the commit throws it again.
struct TUTTI_EXPORT unwind {};

}  // namespace detail
}  // namespace tutti
