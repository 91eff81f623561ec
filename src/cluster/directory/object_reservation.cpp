// DIR8: the reservations of threads, and which other threads they exclude.
#include "cluster/directory/object_directory.hpp"

namespace tutti::cluster {

bool object_directory::excludes(shard& s, const object_id& id, const transaction_name& who, const wire::precedence& as,
                                bool to_write) noexcept {
    if (s.reserved.empty() || injected(fault::lock_reserved)) return false;
    const auto at = s.reserved.find(id);
    if (at == s.reserved.end()) return false;
    const reservation& r = at->second;
    if (r.holder.thread() == who.thread() || !(to_write || r.before_write)) return false;
    if (!r.irrevocable) {
        if (injected(fault::reservation_excludes_none) || same_execution(as, who.node, r.as, r.holder.node))
            return false;
        if (has_precedence(as, who.node, r.as, r.holder.node)) {
            ++s.count.reservations_lost;
            return false;
        }
    }
    ++s.count.outranked;
    return true;
}

object_directory::reservation* object_directory::acquire_reservation(shard& s, const object_id& id,
                                                                     const wire::reserve& how, bool more, bool& fresh) {
    const auto [at, made] = s.reserved.try_emplace(id, reservation{how.who, how.as, how.irrevocable});
    reservation& r = at->second;
    fresh = made || r.holder.thread() != how.who.thread();
    if (!fresh) {
        r.holder = how.who;
        r.as = how.as;
        r.irrevocable = r.irrevocable || how.irrevocable;
    } else if (!more) {
        if (made) s.reserved.erase(at);
        return nullptr;
    } else if (!made) {
        const bool passes =
            !r.irrevocable && (how.irrevocable || has_precedence(how.as, how.who.node, r.as, r.holder.node));
        if (!passes) return nullptr;
        ++s.count.reservations_lost;
        r = {how.who, how.as, how.irrevocable};
    }
    r.before_write = r.before_write || how.before_write;
    return &r;
}

bool object_directory::reserve(const object_id& id, const wire::reserve& how, bool more, wire::object_view& view) {
    shard& s = shard_of(id);
    bool is_new = false;
    {
        const base::lock_guard hold{s.guard};
        object& o = find_or_add_entry(s, id);
        {
            const change_guard around{s, id, o};
            is_new = reserve_locked(s, id, o, how, more, view);
        }
        tidy(s, id, o);
    }
    if (how.before_write) invalidate_copies(id);
    return is_new;
}

bool object_directory::reserve_locked(shard& s, const object_id& id, object& o, const wire::reserve& how, bool more,
                                      wire::object_view& view) {
    view.owner = o.owner;
    view.version = o.version;
    view.where = wire::lookup_result::elsewhere;
    if (!o.here) return false;
    bool fresh = false;
    const reservation* const mine = acquire_reservation(s, id, how, more, fresh);
    view.where = wire::lookup_result::busy;
    if (mine == nullptr && how.irrevocable) {
        const auto others = s.reserved.find(id);
        if (others == s.reserved.end()) view.where = wire::lookup_result::too_large;
        else view.owner = others->second.holder.node;
        return false;
    }
    fresh = fresh && mine != nullptr;
    if (o.writer.exists()) {
        if (is_process_lost(o.writer)) view.where = wire::lookup_result::in_doubt;
        view.owner = o.writer.node;
        return fresh;
    }
    if (how.before_write && !o.readers.empty() && !injected(fault::write_despite_readers)) return fresh;
    if (how.before_write && has_copy_holders(s, id)) return fresh;
    view.where = wire::lookup_result::here;
    view.owner = self_;
    view.exists = o.exists;
    view.valid_at = clock_.now();
    if (how.values) view.bytes = o.bytes;
    if (mine != nullptr && injected(fault::reservation_ends_with_answer)) s.reserved.erase(id);
    return fresh;
}

void object_directory::end_reservation(const object_id& id, std::uint32_t thread) noexcept {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const auto at = s.reserved.find(id);
    if (at == s.reserved.end() || at->second.holder.thread() != thread) return;
    s.reserved.erase(at);
    const auto found = s.objects.find(id);
    if (found == s.objects.end()) return;
    { const change_guard around{s, id, found->second}; }  // updates the word, which may no longer be guarded
    tidy(s, id, found->second);
}

}  // namespace tutti::cluster
