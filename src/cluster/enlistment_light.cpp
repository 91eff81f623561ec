// Light attempts: how they begin, commit, and become ordinary attempts.
#include <array>

#include "cluster/enlistment.hpp"
#include "cluster/peer_body.hpp"
#include "core/ports/policy.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {

// Begins a light attempt if the attempt meets all conditions. The attempt is sound and not irrevocable (I2 of
// core::descriptor), and its algorithm logs reads by their orecs. A kill closes the bounds. A flag is set if this is a
// later attempt, or if it has deferred something. A first attempt has not been defeated, so it has no rank that would
// make it immodest (api::join_attempt). A transaction that begins alone is a block of the language, so this block would
// be nested in it.
detail::light_attempt* enlistment::open_lightly() noexcept {
    core::descriptor& d = descriptor_;
    if (!may_be_light_ || light_.runs() || (d.slow_commit | d.slow_path) != 0 ||
        d.logged_bound_.load(std::memory_order_relaxed) == 0 || d.read_next_ != d.read_begin ||
        d.frame_->parent != nullptr || d.frame_->read_only || d.outer != nullptr ||
        d.run.how->policy != tutti::policy::standard ||
        core::chosen_policy.load(std::memory_order_relaxed) != modest_ || line_.is_recorded() ||
        !d.deferred_log.has_room()) [[unlikely]]
        return nullptr;
    join_alone();
    light_.begin(*d.frame_, site_.clock.now());
    d.at_hand_ = &light_;
    return &light_;
}

void enlistment::tell_now() noexcept {
    may_be_light_ = false;
    is_modest_ = true;
    light_.end();
    note_write(light_.writes());
    work_.take_over(light_);
    tally_.began(false);  // uses the capacity left by the attempt before, which was announced
    line_.works_for(work_.name().sequence);
    line_.attempt_begins();
}

void enlistment::note_what_is_left() noexcept {
    if (!claims_.empty() || enrolled_ || !again_.empty() || has_steps() || tally_.running() != 0) return;
    claims_.begin_execution();
    work_in_vain_ = 0;
    looked_at_ = 0;
    spoilt_ = was_shielded_ = false;
    // A slot that was made for an entry stays with that entry.
    for (std::size_t i = light_.places(); i != detail::light_attempt::most; ++i) {
        void* const kept = work_.kept_of(i);
        if (kept == nullptr) break;
        light_.add_place(*static_cast<detail::slot*>(kept));
    }
    light_.know_places();
    may_be_light_ = work_.is_plain();
}

bool enlistment::commit_one_phase() noexcept {
    if (!light_.runs()) return false;
    if (light_.writes()) return write_in_place();
    pass();
    return true;
}

bool enlistment::write_in_place() noexcept {
    static_assert(detail::light_attempt::most <= store::most_at_once);
    std::array<store::spot, detail::light_attempt::most> spots;
    std::size_t count = 0;
    for (const detail::light_object& o : light_.opened()) {
        store::spot& s = spots[count++];
        s.at = static_cast<shown*>(o.seen);
        s.word = o.word;
        if (o.written) s.written = o.into->value->copied();
        else s.written.at = nullptr;
    }
    std::uint64_t version = 0;
    if (!site_.objects.commit_in_place({spots.data(), count}, version)) return false;
    pass();
    return true;
}

}  // namespace tutti::cluster
