// The locks of the items' buckets, of the LRU lists, of CAS ids and of the buffers of bumps.

// ---- the bucket of an item ---------------------------------------------------------------------------------------
// A thread that holds a bucket across functions, or while it sends, keeps a token (tm.h). A block that finds the token
// held leaves and waits.

// A deletion holds the bucket across two functions, and replies to the client in between. The reply comes after the
// block, because it cannot be undone.
@@
iterator name TM_ITEM;
@@
process_delete_command(...) {
...
- it = item_get_locked(key, nkey, c, DONT_UPDATE, &hv);
+ hv = hash(key, nkey);
+ TM_ITEM(hv) {
+ TM_ITEM_ENTER(hv);
+ it = do_item_get(key, nkey, hv, c, DONT_UPDATE);
  if (it) {
    ...
-   out_string(c, "DELETED");
  } else {
    ...
-   out_string(c, "NOT_FOUND");
  }
- item_unlock(hv);
+ }
+ out_string(c, it ? "DELETED" : "NOT_FOUND");
}

@@
iterator name TM_ITEM;
@@
process_bin_delete(...) {
...
- it = item_get_locked(key, nkey, c, DONT_UPDATE, &hv);
+ bool wrong_cas = false;
+ hv = hash(key, nkey);
+ TM_ITEM(hv) {
+ TM_ITEM_ENTER(hv);
+ wrong_cas = false;
+ it = do_item_get(key, nkey, hv, c, DONT_UPDATE);
  if (it) {
    ...
    if (...) {
      ...
-     write_bin_response(c, NULL, 0, 0, 0);
    } else {
-     write_bin_error(c, PROTOCOL_BINARY_RESPONSE_KEY_EEXISTS, NULL, 0);
+     wrong_cas = true;
    }
    ...
  } else {
-   write_bin_error(c, PROTOCOL_BINARY_RESPONSE_KEY_ENOENT, NULL, 0);
    ...
  }
- item_unlock(hv);
+ }
+ if (it == NULL)
+   write_bin_error(c, PROTOCOL_BINARY_RESPONSE_KEY_ENOENT, NULL, 0);
+ else if (wrong_cas)
+   write_bin_error(c, PROTOCOL_BINARY_RESPONSE_KEY_EEXISTS, NULL, 0);
+ else
+   write_bin_response(c, NULL, 0, 0, 0);
}

// A lock that a thread holds across functions becomes a token.
@@
@@
- static pthread_mutex_t *item_locks;
+ static tm_token *item_locks;

@@
expression E;
@@
item_lock(...) {
- mutex_lock(E);
+ tm_token_take(E);
}

@@
expression E;
identifier lk;
@@
item_trylock(...) {
- pthread_mutex_t *lk = E;
+ tm_token *lk = E;
- if (pthread_mutex_trylock(lk) == 0)
+ if (tm_token_try(lk))
  { return lk; }
  return NULL;
}

@@
expression E;
@@
item_trylock_unlock(...) {
- mutex_unlock((pthread_mutex_t *) E);
+ tm_token_give(E);
}

@@
expression E;
@@
item_unlock(...) {
- mutex_unlock(E);
+ tm_token_give(E);
}

@@
typedef uint32_t, tm_token;
@@
item_unlock(...) { ... }
+ tm_token *tm_item_token(uint32_t hv) {
+   return &item_locks[hv & hashmask(item_lock_hashpower)];
+ }

@@
@@
memcached_thread_init(...) {
  <...
- calloc(item_lock_count, sizeof(pthread_mutex_t))
+ calloc(item_lock_count, sizeof(tm_token))
  ...>
}

@@
@@
memcached_thread_init(...) {
  <...
- pthread_mutex_init(&item_locks[i], NULL);
  ...>
}

// The rest of item access, and the maintainer's bumps.
@@
iterator name TM_ITEM;
identifier f =~ "^(item_get|item_touch|item_link|item_remove|item_unlink|add_delta|store_item|item_answer|item_overwrite|lru_maintainer_bumps)$";
expression H;
@@
f(...) {
  <...
- item_lock(H);
+ TM_ITEM(H) {
+ TM_ITEM_ENTER(H);
  ...
- item_unlock(H);
+ }
  ...>
}

// Moving a bucket of the hash table: no trylock and no sleep is needed.
@@
iterator name TM_ITEM;
identifier item_lock;
statement S;
@@
assoc_maintenance_thread(...) {
  <...
- void *item_lock = NULL;
  ...
- if ((item_lock = item_trylock(expand_bucket))) {
+ TM_ITEM(expand_bucket) {
+ TM_ITEM_ENTER(expand_bucket);
  ...
- } else {
-   usleep(10*1000);
- }
+ }
- if (item_lock) S
  ...>
}

// ---- the LRU lists -----------------------------------------------------------------------------------------------

@@
@@
item_cachedump(...) {
  <...
  if (buffer == 0) {
-   pthread_mutex_unlock(&lru_locks[id]);
    return NULL;
  }
  ...>
}

@@
iterator name TM_LRU_RELAXED;
@@
item_cachedump(...) {
...
- pthread_mutex_lock(&lru_locks[id]);
+ TM_LRU_RELAXED() {
  ...
- pthread_mutex_unlock(&lru_locks[id]);
+ }
  return buffer;
}

// The walk from a list's tail tries the bucket of each item that it meets. While the block runs, only the owner of a
// token can hold a bucket. The walk moves the item to another list before it releases the bucket, so the block
// continues until then.
@@
expression F;
@@
lru_pull_tail(...) {
  <...
  if (flags & F) {
-   pthread_mutex_unlock(&lru_locks[id]);
    return 0;
  }
  ...>
}

@@
expression H;
@@
lru_pull_tail(...) {
  <...
- item_trylock(H)
+ TM_ITEM_TRY(H)
  ...>
}

@@
@@
lru_pull_tail(...) {
  <...
- item_trylock_unlock(...);
  ...>
}

@@
iterator name TM_LRU;
statement S;
@@
lru_pull_tail(...) {
  ...
- pthread_mutex_lock(&lru_locks[id]);
+ TM_LRU() {
  ... when any
- pthread_mutex_unlock(&lru_locks[id]);
  if (it != NULL) S
+ }
  return removed;
}

// The crawler: its work on one item is one block, and an early exit from the work leaves the block.
@@
iterator name TM_LRU;
@@
lru_crawler_class_done(...) {
+ TM_LRU() {
  crawlers[i].it_flags = 0;
  ...
- pthread_mutex_unlock(&lru_locks[i]);
+ }
  ...
}

@@
iterator name TM_LRU_RELAXED;
expression LAST;
@@
item_crawler_thread(...) {
  <...
- pthread_mutex_lock(&lru_locks[i]);
+ bool over = false, looked_at = false;
+ TM_LRU_RELAXED() {
  search = do_item_crawl_q(...);
  if (search == NULL || LAST) {
    ...
-   lru_crawler_class_done(i);
-   continue;
+   over = true;
+   break;
  }
  uint32_t hv = hash(ITEM_key(search), search->nkey);
  if (
-     (hold_lock = item_trylock(hv)) == NULL
+     !TM_ITEM_TRY(hv)
     ) {
-   pthread_mutex_unlock(&lru_locks[i]);
-   continue;
+   break;
  }
  if (refcount_incr(search) != 2) {
    refcount_decr(search);
-   if (hold_lock)
-     item_trylock_unlock(hold_lock);
-   pthread_mutex_unlock(&lru_locks[i]);
-   continue;
+   break;
  }
  crawlers[i].checked++;
- if (!active_crawler_mod.mod->needs_lock) {
-   pthread_mutex_unlock(&lru_locks[i]);
- }
  active_crawler_mod.mod->eval(&active_crawler_mod, search, hv, i);
- if (hold_lock)
-   item_trylock_unlock(hold_lock);
- if (active_crawler_mod.mod->needs_lock) {
-   pthread_mutex_unlock(&lru_locks[i]);
- }
+ looked_at = true;
+ }
+ if (over) lru_crawler_class_done(i);
+ if (!looked_at) continue;
  ...>
}

@@
@@
item_crawler_thread(...) {
  <...
- void *hold_lock = NULL;
  ...>
}

@@
iterator name TM_CRAWL_RELAXED;
@@
lru_maintainer_crawler_check(...) {
  <...
- pthread_mutex_lock(&cdata->lock);
+ TM_CRAWL_RELAXED() {
  ... when != pthread_mutex_unlock(&cdata->lock);
- pthread_mutex_unlock(&cdata->lock);
+ }
  ...>
}

@@
iterator name TM_CRAWL;
@@
- pthread_mutex_lock(&d->lock);
+ TM_CRAWL() {
  ... when != pthread_mutex_unlock(&d->lock);
- pthread_mutex_unlock(&d->lock);
+ }

@@
iterator name TM_LRU;
expression I;
@@
- pthread_mutex_lock(&lru_locks[I]);
+ TM_LRU() {
  ... when != pthread_mutex_unlock(&lru_locks[I]);
- pthread_mutex_unlock(&lru_locks[I]);
+ }

// ---- CAS ids, bumps, and the slab mover --------------------------------------------------------------------------
// A CAS id only has to differ from all others and to exceed the one that it replaces. The thread that takes an id holds
// the item.

@@
typedef uint64_t;
@@
get_cas_id(...) {
- pthread_mutex_lock(&cas_id_lock);
- uint64_t next_id = ++cas_id;
- pthread_mutex_unlock(&cas_id_lock);
- return next_id;
+ return tm_next(&cas_id);
}

@@
@@
- pthread_mutex_lock(&cas_id_lock);
- cas_id = new_cas;
- pthread_mutex_unlock(&cas_id_lock);
+ tm_set(&cas_id, new_cas);

@@
iterator name TM_BUMP;
@@
- pthread_mutex_lock(&b->mutex);
+ TM_BUMP() {
  ... when != pthread_mutex_unlock(&b->mutex);
- pthread_mutex_unlock(&b->mutex);
+ }

// The mover holds an item's bucket, or slabs_lock and a bucket, one inside the other. All of this becomes one block.
// The block begins before slabs_lock is taken. A block that runs alone must not wait for a lock whose owner waits to
// begin a block (finding 10).
@@
expression H;
@@
slab_rebalance_move(...) {
  <...
- item_trylock(H)
+ TM_ITEM_TRY(H)
  ...>
}

@@
@@
slab_rebalance_move(...) {
  <...
- item_trylock_unlock(hold_lock);
  ...>
}

@ exists @
iterator name TM_MOVE;
@@
slab_rebalance_move(...) {
  ...
  if (slab_rebal.completed[offset] == 0) {
+ TM_MOVE() {
  pthread_mutex_lock(&slabs_lock);
  ... when any
  pthread_mutex_unlock(&slabs_lock);
+ }
  }
  ...
}

// ---- calls that a block must not make -----------------------------------------------------------------------------

@@
@@
assoc_find(...) {
+ item *guess = tm_guess(key, nkey, hv);
+ if (guess != NULL && (guess->it_flags & ITEM_LINKED) != 0 && tm_has_key(guess, key, nkey)) return guess;
  item *it;
  ...
}

@@
expression K, I, N;
@@
- memcmp(K, ITEM_key(I), N)
+ !tm_same_key(K, ITEM_key(I), N)

@@
expression S, N;
@@
do_add_delta(...) {
  <...
(
- safe_strtoull(S, N)
+ tm_parse_number(S, N)
|
- strlen(S)
+ tm_strlen(S)
)
  ...>
}

// No other thread sees the copy, and a block that restarts makes a new one.
@@
expression T, F, N;
@@
item_answer(...) {
  <...
  item *it = assoc_find(...);
  if (it != NULL) {
    <...
-   memcpy(T, F, N)
+   tm_copy_out(T, F, N)
    ...>
  }
  ...>
}

// No other thread has seen the source of the copy.
@@
expression T, F, N;
@@
item_overwrite(...) {
  <...
- memcpy(T, F, N)
+ tm_copy_in(T, F, N)
  ...>
}

// Log entries are written after the block's commit.
@@
identifier f =~ "^(do_item_get|do_store_item|lru_pull_tail)$";
expression list A;
@@
f(...) {
  <...
- LOGGER_LOG(A);
+ TM_LOG(A);
  ...>
}

// The settings, the clock and the table of buckets are read without barriers. These data change only while every worker
// is paused, or independently of blocks.
@@
identifier f =~ "^(do_item_.*|item_is_flushed|item_answer|item_overwrite|do_store_item|do_add_delta|lru_pull_tail|slabs_clsid|do_slabs_newslab)$";
identifier F;
@@
f(...) {
  <...
- settings.F
+ tm_settings.F
  ...>
}

@@
identifier f =~ "^(do_item_.*|item_is_flushed|item_overwrite|lru_pull_tail)$";
@@
f(...) {
  <...
- current_time
+ tm_current_time
  ...>
}

@@
identifier f =~ "^(assoc_find|_hashitem_before|assoc_insert)$";
@@
f(...) {
  <...
(
- hashpower
+ tm_hashpower
|
- primary_hashtable
+ tm_primary_hashtable
)
  ...>
}
