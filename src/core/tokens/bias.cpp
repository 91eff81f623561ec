#include "core/tokens/bias.hpp"

#include <optional>

#include "base/fence.hpp"
#include "core/ports/algorithm.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/attempt.hpp"
#include "core/state/commit_flags.hpp"
#include "core/state/fault_injection.hpp"
#include "core/state/sleepers.hpp"
#include "core/state/unfinished_handlers.hpp"
#include "core/tokens/serial_token.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

constexpr word revoked = 1;

// BIA5
constinit detail::shared<std::uint32_t> waiting_to_begin{0};

// The sequence of the latest attempt that a biased owner was to run serially. The owner stores the sequence here before
// it stores the state of that attempt.
constinit detail::shared<word> serial_attempt{0};

descriptor& owner_of(word seen) noexcept {
    return descriptor::of(memory::status_record_of(static_cast<std::uint32_t>(seen >> 32) - 1));
}
word word_of(const descriptor& d) noexcept { return word{d.id + 1} << 32 | word{d.bias.count & 0x7fffffffU} << 1; }

/// Returns how many transactions all other contexts have begun. Returns nullopt if one of these transactions, or a
/// handler of it, is running (HND2).
std::optional<word> begun_by_others(const descriptor& d) noexcept {
    word sum = 0;
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        if (id == d.id) continue;
        const memory::status_record& other = memory::status_record_of(id);
        const word state = other.state.load(std::memory_order_acquire);
        if (memory::is_running(state)) return std::nullopt;
        const bool is_in_handlers = other.unfinished_handlers.load(std::memory_order_acquire) != 0;
        if (is_in_handlers && !injected(fault::overtake_handlers)) return std::nullopt;
        sum += memory::sequence_of(state);
    }
    return sum;
}

/// Returns true if a context sleeps in retry. Such a context is idle, but only a changed orec wakes it, and code
/// without barriers changes no orec.
bool has_retry_waiters() noexcept { return (commit_flags.load(std::memory_order_relaxed) & flag_retry_waiters) != 0; }

bool become_biased_owner(descriptor& d) noexcept {
    const std::optional<word> before = begun_by_others(d);
    if (!before || std::exchange(d.bias.begun_by_others, *before) != *before || has_retry_waiters()) return false;
    ++d.bias.count;  // BIA4
    word none = 0;
    if (!biased_owner.compare_exchange(none, word_of(d), std::memory_order_seq_cst)) return false;
    base::heavy_fence();  // BIA2; partner: the fence between the state and the load of the word in transaction::begin
    word token = serial_token.load(std::memory_order_seq_cst);
    const bool nobody_is_alone =
        serial_owner_in(token) == nullptr &&  // BIA6
        ((token & world_is_stopped) == 0 ||   // BIA7
         serial_token.compare_exchange(token, token & ~world_is_stopped, std::memory_order_seq_cst));
    // BIA5: the loads must be in this order. If a context no longer waits, it has begun, and begun_by_others finds it.
    // If a context does not wait yet, it reads the word after these loads.
    if ((nobody_is_alone && waiting_to_begin.load(std::memory_order_seq_cst) == 0 && begun_by_others(d) == before) ||
        injected(fault::bias_without_recheck)) {
        d.bias.word_as_owner = word_of(d);
        return true;
    }
    word mine = word_of(d);
    // If the exchange fails, a revoker has already cleared the word.
    biased_owner.compare_exchange(mine, 0, std::memory_order_seq_cst);
    return false;
}

}  // namespace

bool begin_as_biased_owner(descriptor& d) {
    const bool is_it =
        d.bias.word_as_owner != 0 && biased_owner.load(std::memory_order_relaxed) == d.bias.word_as_owner;
    if (!is_it && (d.algorithm->one_at_a_time || d.hooks != nullptr || !become_biased_owner(d))) {
        d.bias.blocks_until_next_try = blocks_between_bias_tries;
        return false;
    }
    d.serial = true;
    attempt_reset(d);
    d.logging = true;
    serial_attempt.store(d.own_sequence, std::memory_order_relaxed);
    d.algorithm->begin(d);  // stores the state, and executes a light fence
    // BIA1; partner: heavy_fence in revoke_bias
    if (biased_owner.load(std::memory_order_relaxed) == d.bias.word_as_owner || injected(fault::bias_although_revoked))
        [[likely]]
        return true;
    d.serial = false;
    attempt_close(d);
    d.bias.blocks_until_next_try = blocks_between_bias_tries;
    return false;
}

void revoke_bias(descriptor& d, word seen) noexcept {
    if ((seen & revoked) == 0 && !biased_owner.compare_exchange(seen, seen | revoked, std::memory_order_seq_cst))
        return;
    seen |= revoked;
    waiting_to_begin.fetch_add(1, std::memory_order_seq_cst);
    base::heavy_fence();  // BIA1; partner: light_fence in transaction::begin
    descriptor& other = owner_of(seen);
    const word state = other.state.load(std::memory_order_acquire);
    // By the acquire above, serial_attempt equals the sequence of this attempt if the attempt was to run serially.
    bool is_ended = true;
    if (memory::is_running(state) && memory::sequence_of(state) == serial_attempt.load(std::memory_order_relaxed)) {
        wait_for(d, other, state);
        is_ended = is_over(other, state);
    }
    if (is_ended) biased_owner.compare_exchange(seen, 0, std::memory_order_seq_cst);  // BIA3
    waiting_to_begin.fetch_add(~std::uint32_t{0}, std::memory_order_relaxed);
}

bias_suspension::bias_suspension(descriptor& d) noexcept {
    waiting_to_begin.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
        const word seen = biased_owner.load(std::memory_order_seq_cst);
        if (seen == 0 || may_run_beside(d, seen)) return;
        if (is_interrupted_before_attempt(d)) {
            active_ = false;
            return;
        }
        revoke_bias(d, seen);
    }
}

bias_suspension::~bias_suspension() { waiting_to_begin.fetch_add(~std::uint32_t{0}, std::memory_order_release); }

void forget_bias_of_others(const descriptor* self) noexcept {
    waiting_to_begin.store(0, std::memory_order_relaxed);
    const word seen = biased_owner.load(std::memory_order_relaxed);
    if (seen != 0 && &owner_of(seen) != self) biased_owner.store(0, std::memory_order_relaxed);
}

bool may_run_beside(const descriptor& d, word seen) noexcept {
    const descriptor& owner = owner_of(seen);
    return &owner == &d || is_ancestor(owner, d) || ancestor_runs(d);
}

}  // namespace tutti::core
