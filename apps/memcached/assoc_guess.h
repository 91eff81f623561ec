/* Inserted into assoc.c: see tm_memcached.h. The chain consists of memory that no block frees before this one ends.
 * The walk is short, because a chain that changes meanwhile may lead anywhere. */
bool tm_has_key(const item* it, const char* key, size_t nkey) {
    return it->nkey == nkey && memcmp(ITEM_key(it), key, nkey) == 0;
}

item* tm_guess(const char* key, size_t nkey, uint32_t hv) {
    enum { steps = 8 };
    uint64_t bucket = hv & hashmask(hashpower);
    item** table = primary_hashtable;
    if (expanding && (hv & hashmask(hashpower - 1)) >= expand_bucket) {
        bucket = hv & hashmask(hashpower - 1);
        table = old_hashtable;
    }
    item* it = __atomic_load_n(&table[bucket], __ATOMIC_RELAXED);
    for (int step = 0; it != NULL && step < steps; step++) {
        if (tm_has_key(it, key, nkey)) return it;
        it = __atomic_load_n(&it->h_next, __ATOMIC_RELAXED);
    }
    return NULL;
}
