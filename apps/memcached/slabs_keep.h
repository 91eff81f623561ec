/* The functions that patches/overwrite.cocci calls, inserted into slabs.c before the patches are applied. A thread
 * keeps chunks for its next allocations, one of each class, while it runs a connection's state machine. The slab
 * mover treats them like items whose values have not arrived yet. */
static __thread item* kept[MAX_NUMBER_OF_SLAB_CLASSES];
static __thread uint64_t kept_ids; /* a bit for each class */

static void* slabs_kept(unsigned int id) {
    if ((kept_ids >> id & 1) == 0) return NULL;
    kept_ids &= ~(UINT64_C(1) << id);
    kept[id]->refcount = 1;
    return kept[id];
}

void slabs_keep(item* it, size_t size, unsigned int id) {
    if ((it->it_flags & ITEM_CHUNKED) != 0 || (kept_ids >> id & 1) != 0) {
        slabs_free(it, size, id);
        return;
    }
    it->it_flags = 0;
    kept[id] = it;
    kept_ids |= UINT64_C(1) << id;
}

void slabs_give_back(void) {
    for (; kept_ids != 0; kept_ids &= kept_ids - 1) {
        const unsigned int id = (unsigned int)__builtin_ctzll(kept_ids);
        slabs_free(kept[id], 0, id);
    }
}
