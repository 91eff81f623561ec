#include "policies/table.hpp"

#include "policies/contention_managers.hpp"
#include "policies/self_abort.hpp"
#include "policies/serialize_kernel.hpp"
#include "policies/serialize_soft.hpp"

namespace tutti::policies {
namespace {

constexpr const core::policy* table[] = {
#define TUTTI_POLICY(name, NAME) &name,
    TUTTI_POLICIES(TUTTI_POLICY)
#undef TUTTI_POLICY
};

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
