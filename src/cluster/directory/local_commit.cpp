// A local commit uses one step of the directory in place of three: locking the objects, drawing a version, and applying
// the writes. An in-place commit does the same without the shards' locks.
#include <algorithm>
#include <bit>

#include "cluster/directory/object_directory.hpp"

namespace tutti::cluster {

/// The locks of all shards in which a commit has objects. A commit acquires these locks in the order of the shards'
/// numbers, so two commits never wait for each other.
class object_directory::locked_shards {
public:
    locked_shards(object_directory& of, std::span<local_write> all) : of_{of} {
        static_assert(shards <= 64);
        for (local_write& s : all) {
            s.in = &of.shard_of(*s.id);
            numbers_ |= std::uint64_t{1} << (s.in - of.shards_.data());
        }
        lock();
    }
    ~locked_shards() {
        if (held_) unlock();
    }
    locked_shards(const locked_shards&) = delete;
    locked_shards& operator=(const locked_shards&) = delete;

    void lock() {
        for (std::uint64_t left = numbers_; left != 0; left &= left - 1) guard_of(left).acquire();
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
    object_directory& of_;
    std::uint64_t numbers_ = 0;
    bool held_ = false;
};

wire::lock_refusal object_directory::check_lock(local_write& of, const transaction_name& who,
                                                const wire::precedence& as) {
    if (injected(fault::local_commit_without_validation)) return wire::lock_refusal::none;
    const wire::lock_refusal why = of.fresh != nullptr ? check_write_lock(*of.in, *of.id, *of.at, of.version, who, as)
                                                       : check_read_lock(*of.in, *of.id, *of.at, of.version, who, as);
    return why == wire::lock_refusal::locked && injected(fault::local_commit_ignores_locks) ? wire::lock_refusal::none
                                                                                            : why;
}

wire::lock_refusal object_directory::commit_locally(std::span<local_write> all, const transaction_name& who,
                                                    const wire::precedence& as, std::uint64_t& version) {
    if (injected(fault::draw_version_early)) version = clock_.tick();
    yield_if_injected(fault::draw_version_early);
    locked_shards hold{*this, all};
    for (local_write& s : all) {
        s.at = &find_or_add_entry(*s.in, *s.id);
        s.drops = s.in->drops;
    }
    // DIR10: hides the objects before the version is drawn. A read that finds an object hidden waits for its shard's
    // lock.
    for (const local_write& s : all) hide(*s.at);
    wire::lock_refusal why = wire::lock_refusal::none;
    for (std::size_t i = 0; i < all.size() && why == wire::lock_refusal::none; ++i) why = check_lock(all[i], who, as);
    if (why == wire::lock_refusal::none) {
        if (!injected(fault::draw_version_early)) version = clock_.tick();
        install_local(all, who, version, hold);
    }
    for (const local_write& s : all) {
        if (!s.at->is_lock_free_readable) show(*s.in, *s.id, *s.at);
    }
    tidy(all);
    hold.unlock();
    for (const local_write& s : all) {
        notify(*s.id, s.watchers_to_notify);
        if (why == wire::lock_refusal::shared && s.fresh != nullptr) invalidate_copies(*s.id);
    }
    return why;
}

void object_directory::install_local(std::span<local_write> all, const transaction_name& who, std::uint64_t version,
                                     locked_shards& hold) noexcept {
    for (local_write& s : all) {
        if (s.fresh == nullptr) continue;
        apply_decision_locked(*s.in, *s.id, *s.at, s.what, *s.fresh, version, who);
        s.watchers_to_notify = take_watchers(*s.in, *s.id);
        if (!injected(fault::local_commit_in_parts)) continue;
        hold.unlock();
        yield_if_injected(fault::local_commit_in_parts);
        hold.lock();
    }
}

/// Tidies the entries. Call it last, because tidying one entry may drop others of `all`.
void object_directory::tidy(std::span<local_write> all) {
    for (const local_write& of : all) {
        shard& s = *of.in;
        if (of.drops == s.drops) tidy(s, *of.id, *of.at);
        else if (const auto at = s.objects.find(*of.id); at != s.objects.end()) tidy(s, *of.id, at->second);
    }
}

// The steps are:
//   1. Close the written objects, if they are unchanged since the read. Until the end, other threads can neither see
//      nor close them.
//   2. Draw the version.
//   3. Check that the objects that were only read are unchanged since the read. By SEQ5, these objects were unchanged
//      when step 1 was complete. A commit that overwrites one of them later draws a higher version, after this one.
//   4. Check that no reader may ask for older values. The check comes after the draw, because a reader that has not
//      announced itself by then has a time of this version or more (SNP1).
//   5. Write the values, and open the objects.
// If a step fails, the commit opens the closed objects unchanged, and its version stays unused.
bool object_directory::commit_in_place(std::span<const in_place_write> all, std::uint64_t& version) noexcept {
    // These injected faults concern the steps of a local commit, so an in-place commit must not replace it.
    if (injected(fault::local_commit_without_validation) || injected(fault::local_commit_ignores_locks) ||
        injected(fault::local_commit_in_parts) || injected(fault::draw_version_early))
        return false;
    const bool keeps_values = !injected(fault::in_place_without_old_value);
    // This check comes first because it usually fails in a cluster of several nodes: another node may still ask for the
    // former value.
    if (keeps_values && readers_.oldest_read_time() < clock_.now()) return false;
    const auto open_again = [all](std::size_t first) {
        for (const in_place_write& s : all.first(first)) {
            if (s.written.exists()) s.at->cancel_write();
        }
        return false;
    };
    const auto reads_are_valid = [all] {
        return std::ranges::all_of(
            all, [](const in_place_write& s) { return s.written.exists() || s.at->is_unchanged_since(s.word); });
    };
    if (injected(fault::in_place_validates_early) && !reads_are_valid()) return false;
    yield_if_injected(fault::in_place_validates_early);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const in_place_write& s = all[i];
        if (!seqlock_object::allows_in_place_write(s.word)) return open_again(i);
        if (!s.written.exists()) continue;
        if (!s.at->try_begin_write(s.word)) return open_again(i);
        if (s.at->size() != s.written.size + sizeof s.written.tag) return open_again(i + 1);
    }
    version = clock_.tick();
    const bool tries = !injected(fault::in_place_without_validation) && !injected(fault::in_place_validates_early);
    if (tries && !reads_are_valid()) return open_again(all.size());
    if (keeps_values && readers_.oldest_read_time() < version) return open_again(all.size());
    for (const in_place_write& s : all) {
        if (s.written.exists()) s.at->end_write(version, s.written);
    }
    return true;
}

}  // namespace tutti::cluster
