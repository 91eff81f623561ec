/// @file
/// Why transactions end without an effect, and the exceptions that users see.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tutti/c/abort_causes.h"
#include "tutti/detail/config.hpp"

namespace tutti {

/// Why an attempt to run an atomic block was rolled back. One list for the API, statistics, probes and logs:
/// tutti/c/abort_causes.h says what each means.
enum class abort_cause : std::uint8_t {
#define TUTTI_ENUMERATOR(name, NAME) name,
    TUTTI_ABORT_CAUSES(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
};

#define TUTTI_ONE_MORE(name, NAME) +1
inline constexpr std::size_t abort_cause_count = 0 TUTTI_ABORT_CAUSES(TUTTI_ONE_MORE);
#undef TUTTI_ONE_MORE

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

/// A block needs something beyond this process, a node of a cluster or an engine, which cannot be reached, or has not
/// answered in time.
class TUTTI_EXPORT out_of_reach : public std::runtime_error {
public:
    explicit out_of_reach(const std::string& what, bool outcome_known = true)
        : std::runtime_error{what}, outcome_known_{outcome_known} {}
    ~out_of_reach() override;
    /// True: the block had no effect. False: it has had all of its effects beyond this process, or none.
    [[nodiscard]] bool outcome_known() const noexcept { return outcome_known_; }

private:
    bool outcome_known_;
};

namespace detail {

/// What a restart throws through the user's frames so that their destructors run. Deliberately not a
/// std::exception, so that `catch (const std::exception&)` in a body lets it pass; a body that swallows it with
/// `catch (...)` meets it again at its next barrier or at commit.
struct TUTTI_EXPORT unwind {};

}  // namespace detail
}  // namespace tutti
