// A commit at once: one step of the store does what lock, draw and settle do for others.
#include <bit>

#include "cluster/directory/store.hpp"

namespace tutti::cluster {

/// The locks of all shards that a commit has something in, taken in the order of their numbers: no two commits wait for
/// each other.
class store::locked_shards {
public:
    locked_shards(store& of, std::span<share> all) : of_{of} {
        static_assert(shards <= 64);
        for (share& s : all) {
            if (s.at.in_ == nullptr) s.at.in_ = &of.shard_of(*s.id);
            numbers_ |= std::uint64_t{1} << (s.at.in_ - of.shards_.data());
        }
        lock();
    }
    ~locked_shards() {
        if (held_) unlock();
    }
    locked_shards(const locked_shards&) = delete;
    locked_shards& operator=(const locked_shards&) = delete;

    void lock() {
        for (std::uint64_t left = numbers_; left != 0; left &= left - 1) guard_of(left).take();
        held_ = true;
    }
    void unlock() noexcept {
        held_ = false;
        for (std::uint64_t left = numbers_; left != 0; left &= left - 1) guard_of(left).unlock();
    }

private:
    [[nodiscard]] base::lock& guard_of(std::uint64_t left) noexcept {
        return of_.shards_[static_cast<std::size_t>(std::countr_zero(left))].guard;
    }
    store& of_;
    std::uint64_t numbers_ = 0;
    bool held_ = false;
};

store::object& store::entry(share& of) {
    shard& s = *of.at.in_;
    if (of.at.at_ == nullptr || of.at.drops_ != s.drops) {
        of.at.at_ = &entry(s, *of.id);
        of.at.drops_ = s.drops;
    }
    return *of.at.at_;
}

wire::obstacle store::before(share& of, const transaction_name& who, const wire::precedence& as) {
    object& o = entry(of);
    if (broken(fault::at_once_without_look)) return wire::obstacle::none;
    // What is neither locked nor reserved is in the way of nobody who has read it as it is.
    if (o.here && o.version == of.version && !o.is_locked() && of.at.in_->reserved.empty()) return wire::obstacle::none;
    const wire::obstacle why = of.fresh != nullptr ? before_writer(*of.at.in_, *of.id, o, of.version, who, as)
                                                   : before_reader(*of.at.in_, *of.id, o, of.version, who, as);
    return why == wire::obstacle::locked && broken(fault::at_once_beside_locks) ? wire::obstacle::none : why;
}

wire::obstacle store::commit_at_once(std::span<share> all, const transaction_name& who, const wire::precedence& as,
                                     std::uint64_t& version) {
    if (broken(fault::draw_version_early)) version = clock_.tick();
    invite_others(fault::draw_version_early);
    locked_shards hold{*this, all};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const wire::obstacle why = before(all[i], who, as);
        if (why == wire::obstacle::none) continue;
        tidy(all.first(i + 1));
        return why;
    }
    for (const share& s : all) {
        if (s.fresh != nullptr) hide(*s.at.at_);  // S10: before the version is drawn
    }
    if (!broken(fault::draw_version_early)) version = clock_.tick();
    install_at_once(all, who, version, hold);
    return wire::obstacle::none;
}

/// Whether nobody has it locked, watches it, or may ask for what it was before `version`.
bool store::is_for_nobody_else(const shard& s, const object& o, std::uint64_t version, std::uint64_t needed) noexcept {
    return !o.is_locked() && s.watched.empty() && s.kept.empty() && version <= needed;
}

void store::install_at_once(std::span<share> all, const transaction_name& who, std::uint64_t version,
                            locked_shards& hold) noexcept {
    const std::uint64_t needed = readers_.oldest();
    bool all_stay = true;
    for (share& s : all) {
        shard& in = *s.at.in_;
        const bool stays = nothing_to_tidy(in, *s.at.at_);
        all_stay = all_stay && stays;
        if (s.fresh == nullptr) continue;
        if (stays && s.what == wire::action::put && is_for_nobody_else(in, *s.at.at_, version, needed)) {
            replace(*s.at.at_, *s.fresh, version);
            show(*s.at.at_);
        } else {
            settle_locked(in, *s.id, *s.at.at_, s.what, *s.fresh, version, who);
            s.told = take_watchers(in, *s.id);
            all_stay = false;
        }
        if (!broken(fault::at_once_in_parts)) continue;
        hold.unlock();
        invite_others(fault::at_once_in_parts);
        hold.lock();
    }
    if (!all_stay || broken(fault::at_once_in_parts)) tidy(all);
    hold.unlock();
    for (const share& s : all) tell(*s.id, s.told);
}

/// Last, since it may drop others of them.
void store::tidy(std::span<share> all) {
    for (const share& of : all) {
        shard& s = *of.at.in_;
        if (of.at.drops_ == s.drops) tidy(s, *of.id, *of.at.at_);
        else if (const auto at = s.objects.find(*of.id); at != s.objects.end()) tidy(s, *of.id, at->second);
    }
}

}  // namespace tutti::cluster
