#include "algorithms/table.hpp"

#include "algorithms/exclusive.hpp"
#include "algorithms/hybrid.hpp"
#include "algorithms/norec.hpp"
#include "algorithms/wb_ctl.hpp"
#include "algorithms/wb_etl.hpp"
#include "algorithms/wt_etl.hpp"
#include "core/lifecycle/transaction.hpp"
#include "hardware/rtm.hpp"

namespace tutti::algorithms {
namespace {

template <core::algorithm A, bool Preemptable>
constexpr core::instance make(const core::instance* preemptable) noexcept {
    using t = core::transaction<A, Preemptable>;
    core::instance i{};
    i.open = t::open;
    i.open_ordinary = t::open_ordinary;
    i.open_plainly = t::open_plainly;
    i.begin = [](core::descriptor& d) { t::begin(d); };
    if constexpr (requires { A::begin_snapshot; }) i.begin_snapshot = [](core::descriptor& d) { t::begin_snapshot(d); };
    i.commit = t::commit;
    i.read = t::read_var;
    i.write = t::write_var;
    i.load = t::load;
    i.store = t::store;
    i.name = A::name;
    i.summary = A::summary;
    i.preemptable = preemptable;
    i.privatizes_by_waiting = A::privatizes_by_waiting;
    i.in_place = A::in_place;
    i.one_at_a_time = A::one_at_a_time;
    i.first_version_bit = A::first_version_bit;
    if constexpr (requires { A::leave_hardware; }) {
        i.leave_hardware = A::leave_hardware;
        i.is_served = A::is_served;
    } else if constexpr (A::in_place) {
        // Used by hardware attempts of blocks of the language (itm/hardware.hpp).
        i.leave_hardware = [](core::descriptor& d, hardware_abort why) { hardware::rtm::abort(d, why); };
    }
    i.roll_back = [](core::descriptor& d) noexcept { A::roll_back(d); };
    i.roll_back_to_savepoint = [](core::descriptor& d, const detail::savepoint& mark) noexcept {
        A::roll_back_to_savepoint(d, mark);
    };
    i.unchanged = [](core::descriptor& d) { return A::unchanged(d); };
    i.become = [](core::descriptor& d, memory::status s) { return A::become(d, s); };
    i.refresh = [](core::descriptor& d) { A::refresh(d); };
    i.load_outside = [](core::descriptor& d, const detail::cell& cell) { return A::load_outside(d, cell); };
    if constexpr (requires { A::renew_clock; }) i.renew_clock = A::renew_clock;
    return i;
}

template <core::algorithm A>
constinit const core::instance guarded = make<A, true>(nullptr);
template <core::algorithm A>
constinit const core::instance plain = make<A, false>(&guarded<A>);

#define TUTTI_ALGORITHM(type, its_name) \
    static_assert(type::name == std::string_view{its_name}, "the name in list.def is that of the type");
#define TUTTI_HARDWARE_ALGORITHM TUTTI_ALGORITHM
#include "algorithms/list.def"
#undef TUTTI_ALGORITHM

constexpr const core::instance* instances[] = {
#define TUTTI_ALGORITHM(type, its_name) &plain<type>,
#include "algorithms/list.def"
#undef TUTTI_ALGORITHM
#undef TUTTI_HARDWARE_ALGORITHM
};

}  // namespace

std::span<const core::instance* const> all() noexcept { return instances; }

const core::instance* find(std::string_view name) noexcept {
    for (const core::instance* i : instances) {
        if (i->name == name) return i;
    }
    return nullptr;
}

}  // namespace tutti::algorithms
