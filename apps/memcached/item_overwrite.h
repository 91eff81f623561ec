/* The functions that patches/overwrite.cocci calls, inserted into items.c before the patches are applied. */
enum { overwrite_room = 512 };

// Overwrites a value of the same size under the same key by the value of `from`, which no other thread has seen. The
// item keeps its place in its LRU list, so that must be a list for items in use. Returns false if nothing was changed.
bool item_overwrite(conn* c, item* from) {
    const uint16_t kind = from->it_flags;
    const int nbytes = from->nbytes;
    const uint8_t id = from->slabs_clsid;
    const rel_time_t exptime = from->exptime;
    const size_t before_value = (size_t)(ITEM_suffix(from) - (char*)from);
    const size_t value = ITEM_ntotal(from) - before_value;
    if (nbytes > overwrite_room || (kind & ~(ITEM_CAS | ITEM_CFLAGS)) != 0 || ITEM_get_cas(from) != 0) return false;
    if ((id & (3 << 6)) != HOT_LRU || !settings.lru_segmented || stats_sizes_hist != NULL) return false;
    if (settings.verbose > 1 || (c->thread->l != NULL && (c->thread->l->eflags & LOG_MUTATIONS) != 0)) return false;
    bool stored = false;
    const uint32_t hv = hash(ITEM_key(from), from->nkey);
    item_lock(hv);
    stored = false;
    item* it = assoc_find(ITEM_key(from), from->nkey, hv);
    // Only the table has a reference, so no connection is sending the item.
    if (it != NULL && it->refcount == 1 && it->nbytes == nbytes &&
        (it->it_flags & (ITEM_CAS | ITEM_CFLAGS | ITEM_CHUNKED)) == kind &&
        (it->slabs_clsid == id || it->slabs_clsid == (id | WARM_LRU)) &&
        (it->exptime == 0 || it->exptime > current_time) && !item_is_flushed(it)) {
        it->it_flags = kind | ITEM_LINKED;
        it->time = current_time;
        it->exptime = exptime;
        ITEM_set_cas(it, settings.use_cas ? get_cas_id() : 0);
        memcpy((char*)it + before_value, (const char*)from + before_value, value);
        stored = true;
    }
    item_unlock(hv);
    if (stored) {
        STATS_LOCK();
        stats.total_items += 1;
        STATS_UNLOCK();
    }
    return stored;
}

// Frees an item that no other thread has seen.
void item_drop(item* it) {
    it->refcount = 0;
    slabs_keep(it, ITEM_ntotal(it), ITEM_clsid(it));
}
