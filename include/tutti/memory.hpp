/// @file
/// Plain memory in transactions: words that are not a `var`, and objects that come and go with a commit.
#pragma once

#include <new>

#include "tutti/detail/runtime.hpp"

namespace tutti {

/// What `load` and `store` take: trivially copyable, of 1, 2, 4 or 8 bytes, naturally aligned.
template <class T>
concept plain_word =
    std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

/// Reads an ordinary word transactionally. `from` must be aligned to sizeof(T). Costs a call out of
/// line under every algorithm.
///
/// Every access to that memory while transactions can reach it must go through `load` and `store`; memory that a
/// transaction has made private may be used directly as soon as its `atomically` has returned (unless the block
/// waived `options::privatization`).
/// @throws usage_error     for another address
/// @throws std::bad_alloc  when memory for the logs runs out
template <plain_word T>
[[nodiscard]] T load(tx& t, const T* from) {
    const detail::word value = detail::access::ops(t).load(t, static_cast<const void*>(from), sizeof(T));
    detail::annotate::acquire(from);
    return detail::from_word<T>(value);
}

/// Writes an ordinary word transactionally; see `load`, also for what it throws.
template <plain_word T>
void store(tx& t, T* to, const std::type_identity_t<T>& value) {
    detail::annotate::release(to);
    detail::access::ops(t).store(t, static_cast<void*>(to), sizeof(T), detail::to_word(value));
}

/// Makes an object that exists only if the block commits. After a roll-back of the outermost block its destructor has
/// run and its memory is free. After one of a nested block alone its destructor has run in the transaction that goes on,
/// or runs when the outermost block has ended: docs/semantics.md. What the constructor throws leaves the block.
/// @throws std::bad_alloc  when memory for it or for the log of allocations runs out
/// @throws usage_error     when T wants an alignment beyond 4096 bytes
template <class T, class... Args>
[[nodiscard]] T* create(tx& t, Args&&... args) {
    void* const memory = detail::allocate(t, sizeof(T), alignof(T));
    T* const object = ::new (memory) T(std::forward<Args>(args)...);
    if constexpr (!std::is_trivially_destructible_v<T>) {
        detail::on_abort_destroy(t, object, [](void* p) {
            detail::annotate::destroy();
            static_cast<T*>(p)->~T();
        });
    }
    return object;
}

/// Destroys an object that was made by `create` or by `new`, if and when the transaction commits; its destructor
/// runs, outside any transaction and on any thread, once no running transaction can still see it. Null is ignored.
/// T may be a base with a virtual destructor; it must not have an `operator delete` of its own.
/// @throws std::bad_alloc  when memory for the logs runs out: the commit itself must not
template <class T>
void destroy(tx& t, T* object) {
    if (object == nullptr) return;
    detail::on_commit_retire(t, const_cast<std::remove_cv_t<T>*>(object), [](void* p) {
        detail::annotate::destroy();
        delete static_cast<T*>(p);
    });
}

}  // namespace tutti
