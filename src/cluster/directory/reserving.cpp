// S8: the reservations of threads, and which other threads they exclude.
#include "cluster/directory/store.hpp"

namespace tutti::cluster {

bool store::keeps_out(shard& s, const object_id& id, const transaction_name& who, const wire::precedence& as,
                      bool to_write) noexcept {
    if (s.reserved.empty() || injected(fault::lock_what_is_reserved)) return false;
    const auto at = s.reserved.find(id);
    if (at == s.reserved.end()) return false;
    const reservation& r = at->second;
    if (r.holder.thread() == who.thread() || !(to_write || r.alone)) return false;
    if (!r.firm) {
        if (injected(fault::protect_nobody) || are_one(as, who.node, r.as, r.holder.node)) return false;
        if (goes_first(as, who.node, r.as, r.holder.node)) {
            ++s.count.given_way;
            return false;
        }
    }
    ++s.count.outranked;
    return true;
}

store::reservation* store::take_reservation(shard& s, const object_id& id, const wire::reserve& how, bool more,
                                            bool& fresh) {
    const auto [at, made] = s.reserved.try_emplace(id, reservation{how.who, how.as, how.irrevocable});
    reservation& r = at->second;
    fresh = made || r.holder.thread() != how.who.thread();
    if (!fresh) {
        r.holder = how.who;
        r.as = how.as;
        r.firm = r.firm || how.irrevocable;
    } else if (!more) {
        if (made) s.reserved.erase(at);
        return nullptr;
    } else if (!made) {
        const bool passes = !r.firm && (how.irrevocable || goes_first(how.as, how.who.node, r.as, r.holder.node));
        if (!passes) return nullptr;
        ++s.count.given_way;
        r = {how.who, how.as, how.irrevocable};
    }
    r.alone = r.alone || how.before_write;
    return &r;
}

bool store::reserve(const object_id& id, const wire::reserve& how, bool more, wire::object_view& view) {
    shard& s = shard_of(id);
    bool is_new = false;
    {
        const base::lock_guard hold{s.guard};
        object& o = entry(s, id);
        {
            const change around{s, id, o};
            is_new = reserve_locked(s, id, o, how, more, view);
        }
        tidy(s, id, o);
    }
    if (how.before_write) invalidate(id);
    return is_new;
}

bool store::reserve_locked(shard& s, const object_id& id, object& o, const wire::reserve& how, bool more,
                           wire::object_view& view) {
    view.owner = o.owner;
    view.version = o.version;
    view.where = wire::lookup_result::elsewhere;
    if (!o.here) return false;
    bool fresh = false;
    const reservation* const mine = take_reservation(s, id, how, more, fresh);
    view.where = wire::lookup_result::busy;
    if (mine == nullptr && how.irrevocable) {
        const auto others = s.reserved.find(id);
        if (others == s.reserved.end()) view.where = wire::lookup_result::too_large;
        else view.owner = others->second.holder.node;
        return false;
    }
    fresh = fresh && mine != nullptr;
    if (o.writer.exists()) {
        if (is_gone(o.writer)) view.where = wire::lookup_result::in_doubt;
        view.owner = o.writer.node;
        return fresh;
    }
    if (how.before_write && !o.readers.empty() && !injected(fault::write_beside_readers)) return fresh;
    if (how.before_write && has_sharers(s, id)) return fresh;
    view.where = wire::lookup_result::here;
    view.owner = self_;
    view.exists = o.exists;
    view.valid_at = clock_.now();
    if (how.values) view.bytes = o.bytes;
    if (mine != nullptr && injected(fault::reservation_ends_with_answer)) s.reserved.erase(id);
    return fresh;
}

void store::end_reservation(const object_id& id, std::uint32_t thread) noexcept {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const auto at = s.reserved.find(id);
    if (at == s.reserved.end() || at->second.holder.thread() != thread) return;
    s.reserved.erase(at);
    const auto found = s.objects.find(id);
    if (found == s.objects.end()) return;
    { const change around{s, id, found->second}; }  // its word may no longer be guarded
    tidy(s, id, found->second);
}

}  // namespace tutti::cluster
