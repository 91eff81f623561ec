#include "policies/table.hpp"

#include "policies/adaptive.hpp"
#include "policies/aggressive.hpp"
#include "policies/backoff.hpp"
#include "policies/delay.hpp"
#include "policies/earliest_deadline.hpp"
#include "policies/karma.hpp"
#include "policies/patient.hpp"
#include "policies/priority.hpp"
#include "policies/serialize.hpp"
#include "policies/serialize_soft.hpp"
#include "policies/suicide.hpp"
#include "policies/timestamp.hpp"
#include "policies/yield.hpp"

namespace tutti::policies {
namespace {

constexpr const core::policy* table[] = {
    &patient,  &suicide,           &aggressive,     &delay,     &backoff,        &timestamp, &karma,
    &priority, &earliest_deadline, &serialize_spin, &serialize, &serialize_soft, &yield,     &adaptive};

}  // namespace

std::span<const core::policy* const> all() noexcept { return table; }

const core::policy& number(policy p) noexcept { return *table[static_cast<std::size_t>(p) - 1]; }

const core::policy* find(std::string_view name) noexcept {
    for (const core::policy* p : table) {
        if (p->name == name) return p;
    }
    return nullptr;
}

}  // namespace tutti::policies
