/* The function that patches/copies.cocci calls, inserted into proto_text.c before the patches are applied. */
enum { answer_room = 512 };

// Replies to a get with a copy of the value. Returns false if the value is missing, too large, expired, or has to be
// logged.
static bool item_answer(conn* c, const char* key, const size_t nkey, const bool return_cas, uint8_t* from) {
    union {
        item it;
        char bytes[sizeof(item) + sizeof(uint64_t) + KEY_MAX_LENGTH + 1 + sizeof(uint32_t) + answer_room];
    } copy;
    size_t size = 0;
    if (settings.verbose > 1 || (c->thread->l != NULL && (c->thread->l->eflags & LOG_FETCHERS) != 0)) return false;
    const uint32_t hv = hash(key, nkey);
    item_lock(hv);
    item* it = assoc_find(key, nkey, hv);
    if (it != NULL) {
        memcpy(&copy.it, it, sizeof(item));
        if (copy.it.nbytes <= answer_room && (copy.it.it_flags & ITEM_CHUNKED) == 0) {
            size = ITEM_ntotal(&copy.it);
            memcpy(copy.bytes + sizeof(item), it->data, size - sizeof(item));
            if ((copy.it.it_flags & ITEM_ACTIVE) == 0 || !settings.lru_segmented) do_item_bump(c, it, hv);
        }
    }
    item_unlock(hv);
    if (size == 0 || item_is_flushed(&copy.it) || (copy.it.exptime != 0 && copy.it.exptime <= current_time))
        return false;
    mc_resp* resp = c->resp;
    char* end = resp->wbuf;
    memcpy(end, "VALUE ", 6);
    end += 6;
    memcpy(end, key, nkey);
    end += nkey;
    end += make_ascii_get_suffix(end, &copy.it, return_cas, copy.it.nbytes);
    memcpy(end, ITEM_data(&copy.it), copy.it.nbytes);
    end += copy.it.nbytes;
    resp_add_iov(resp, resp->wbuf, end - resp->wbuf);
    *from = copy.it.slabs_clsid;
    return true;
}
