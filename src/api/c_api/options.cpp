#include "api/c_api/options.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "policies/table.hpp"
#include "tutti/errors.hpp"

namespace tutti::api {
namespace {

static_assert(static_cast<int>(mode::optimistic) == TUTTI_OPTIMISTIC);
static_assert(static_cast<int>(mode::visible) == TUTTI_VISIBLE);
static_assert(static_cast<int>(mode::irrevocable) == TUTTI_IRREVOCABLE);
static_assert(static_cast<int>(mode::snapshot) == TUTTI_SNAPSHOT);
static_assert(static_cast<int>(privatization::safe) == TUTTI_PRIVATIZATION_SAFE);
static_assert(static_cast<int>(privatization::waived) == TUTTI_PRIVATIZATION_WAIVED);
static_assert(static_cast<int>(nesting::closed) == TUTTI_NESTING_CLOSED);
static_assert(static_cast<int>(nesting::flat) == TUTTI_NESTING_FLAT);
static_assert(static_cast<int>(missed_deadline::run_anyway) == TUTTI_RUN_ANYWAY);
static_assert(static_cast<int>(missed_deadline::run_irrevocable) == TUTTI_RUN_IRREVOCABLE);
static_assert(static_cast<int>(missed_deadline::refuse) == TUTTI_REFUSE);

/// The size of the structure in its first version. A size above max_options_size means that the structure is
/// uninitialized.
constexpr std::size_t min_options_size = offsetof(tutti_options, deadline);
constexpr std::size_t max_options_size = 4096;

void check_range(int value, int last, const char* text) {
    if (value < 0 || value > last) throw usage_error{text};
}

/// Copies the options that this version knows. A caller that was compiled for an older structure gets defaults for the
/// rest. A caller that was compiled for a newer structure must not set the options that this version does not know.
tutti_options known_options(const tutti_options& given) {
    if (given.struct_size < min_options_size || given.struct_size > max_options_size) {
        throw usage_error{"tutti_options: struct_size is wrong; start from TUTTI_OPTIONS_INIT or use TUTTI_OPTIONS"};
    }
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
    for (std::size_t i = sizeof(tutti_options); i < given.struct_size; ++i) {
        if (bytes[i] != 0) throw usage_error{"tutti_options: an option is set that this version does not know"};
    }
    tutti_options known{};
    std::memcpy(&known, bytes, std::min(given.struct_size, sizeof known));
    return known;
}

std::chrono::nanoseconds nanoseconds(std::uint64_t count) noexcept {
    constexpr std::uint64_t max_count = std::numeric_limits<std::int64_t>::max();
    return std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(count, max_count))};
}

}  // namespace

c_options::c_options(const tutti_options* given) {
    if (given == nullptr) return;
    const tutti_options from = known_options(*given);
    check_range(from.mode, TUTTI_SNAPSHOT, "tutti_options: mode is not a tutti_mode");
    check_range(from.privatization, TUTTI_PRIVATIZATION_WAIVED,
                "tutti_options: privatization is not a tutti_privatization");
    check_range(from.nesting, TUTTI_NESTING_FLAT, "tutti_options: nesting is not a tutti_nesting");
    check_range(from.policy, static_cast<int>(policies::all().size()), "tutti_options: policy is not a tutti_policy");
    options_.name = from.name;
    options_.read_only = from.read_only;
    options_.mode = static_cast<mode>(from.mode);
    options_.privatization = static_cast<privatization>(from.privatization);
    options_.nesting = static_cast<nesting>(from.nesting);
    options_.policy = static_cast<policy>(from.policy);
    options_.priority = from.priority;
    result_ = from.outcome;
    if (from.deadline != 0 || from.deadline_at != 0) read_deadline(from);
}

void c_options::read_deadline(const tutti_options& from) {
    if (from.deadline != 0 && from.deadline_at != 0) {
        throw usage_error{"tutti_options: deadline and deadline_at are both set; give one of the two"};
    }
    check_range(from.when_missed, TUTTI_REFUSE, "tutti_options: when_missed is not a tutti_missed_deadline");
    // The steady clock has the same epoch as CLOCK_MONOTONIC.
    if (from.deadline != 0) options_.deadline = nanoseconds(from.deadline);
    else options_.deadline = std::chrono::steady_clock::time_point{nanoseconds(from.deadline_at)};
    if (from.qos != 0) options_.qos = from.qos;
    options_.when_missed = static_cast<missed_deadline>(from.when_missed);
    options_.outcome = &outcome_;
    options_.tuning = &tuning_;
    if (from.deadline_samples != 0) tuning_.samples = from.deadline_samples;
    if (from.visible_factor != 0) tuning_.visible_factor = from.visible_factor;
    if (from.irrevocable_factor != 0) tuning_.irrevocable_factor = from.irrevocable_factor;
}

void c_options::report() const noexcept {
    if (result_ == nullptr) return;
    *result_ = {outcome_.committed, outcome_.met, static_cast<int>(outcome_.mode), outcome_.left.count()};
}

}  // namespace tutti::api
