#include "pristine.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "algorithms/norec.hpp"
#include "core/lifecycle/registry.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/privatization/quiescence_set.hpp"
#include "core/rollback/reader_predictor.hpp"
#include "core/state/commit_flags.hpp"
#include "core/tokens/serial_token.hpp"
#include "memory/orec.hpp"
#include "support/version_clock.hpp"
#include "world.hpp"

namespace interleaving {
namespace {

using tutti::algorithms::version_clock;
using tutti::core::descriptor;

using tutti::algorithms::norec_beside;
using sequence_of_norec = norec_beside<tutti::algorithms::software_alone>;
// As in support/version_clock.hpp.
auto* lock_of_norec();
template <auto* Lock>
struct key_of_norec {
    friend auto* lock_of_norec() { return Lock; }
};
template struct key_of_norec<&sequence_of_norec::lock_>;

/// Fifty years of 100 million events a second.
constexpr tutti::detail::word fifty_years = 50ULL * 365 * 24 * 3600 * 100'000'000;

void reset(descriptor& d, clock_state clock) {
    if (clock == clock_state::late && d.own_sequence < fifty_years) d.own_sequence = fifty_years;
    d.reserve_read();  // without room in the log, the first read takes a longer path than the following ones
    d.algorithm_data.clock = {};
    d.algorithm_data.values.shrink(0);  // of an algorithm that reads by value
    d.algorithm_data.hardware = {};
    d.partial_rollback.predictor = {};
    d.bias.word_as_owner = d.bias.begun_by_others = 0;
    d.bias.count = d.bias.blocks_until_next_try = 0;
    d.serial_takes = {};
    d.snapshot_bound = 0;  // an attempt in hardware may end without a bound of its own
    d.quiescing.received_up_to = d.quiescing.deferred_up_to = 0;
    d.pending_quiescence_waits.reset(0);
    d.is_in_quiescence_set.reset(0);
    d.quiescing.steps_walked = 0;
    d.swept_sequence = 0;
    d.random = 1;
    d.replies_requested.reset(0);
    d.replies_given.reset(0);
    d.sleepers.reset(0);  // a sleeper that did not get to sleep leaves its count there
    if (clock == clock_state::about_to_switch) {
        d.algorithm_data.clock.counted = version_clock::window - 1;
        d.algorithm_data.clock.foreign = version_clock::window - 1;
        d.algorithm_data.clock.deferred_length = 1;
        d.algorithm_data.clock.deferred_left = 1;
        d.algorithm_data.clock.own_hits = 127;
    }
    if (clock == clock_state::ending) d.algorithm_data.clock.counted = version_clock::window - 1;
}

}  // namespace

void make_engine_pristine(clock_state clock) {
    tutti::core::quiesced_up_to.reset(0);
    const bool late = clock == clock_state::late;
    const auto start = [clock] {
        constexpr unsigned shift = version_clock::time_shift;
        switch (clock) {
            case clock_state::deferred: return version_clock::first_time << shift | 1;
            case clock_state::late: return (version_clock::end_of_time - 64) << shift;
            case clock_state::ending: return version_clock::late << shift;
            default: return version_clock::first_time << shift;
        }
    };
    tutti::support::word_of_the_clock()->now.reset(start());
    auto& era = *tutti::support::words_of_the_era();
    era.number = era.next_try = era.failures = 0;
    lock_of_norec()->sequence.reset(late ? fifty_years * sequence_of_norec::one_commit : 0);
    version_clock::reset_pause();
    // The pool is a stack. All descriptors are taken at once and returned in order, so that they are handed out by
    // number.
    std::array<descriptor*, scheduler::max_threads> all{};
    for (descriptor*& d : all) d = &tutti::core::acquire_descriptor();
    std::ranges::sort(all, std::ranges::greater{}, [](const descriptor* d) { return d->id; });
    for (descriptor* d : all) {
        reset(*d, clock);
        tutti::core::release_descriptor(*d);
    }
    for (tutti::core::predicted_block& b : tutti::core::predicted_blocks) b.site = nullptr;
    tutti::core::commit_flags.reset(0);
    tutti::core::quiescence_set.reset(nullptr);
    tutti::core::biased_owner.reset(0);
    tutti::core::serial_token.reset(0);
    for (const world::spaced_word& one : plain_words()) tutti::memory::orec_of(&one.word).reset(0);
}

}  // namespace interleaving
