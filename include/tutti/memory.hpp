/// @file
/// Plain memory in transactions: words that are not a `var`, and objects that come and go with a commit.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

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

/// Whether a value of type T is plain memory: its destruction neither touches nor frees a variable (`var`, or what
/// `load` and `store` access). A transaction destroys such a value early when it has made and replaced it itself, so a
/// block that sets a variable again and again needs no more memory than one that sets it once. Any other value waits
/// for the end of the transaction. Specialize it as true for types of yours that hold nothing but such values.
template <class T>
inline constexpr bool is_plain_value = std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T>;
template <class T>
inline constexpr bool is_plain_value<const T> = is_plain_value<T>;
template <class C, class Traits>
inline constexpr bool is_plain_value<std::basic_string<C, Traits, std::allocator<C>>> = true;
template <class T>
inline constexpr bool is_plain_value<std::vector<T, std::allocator<T>>> = is_plain_value<T>;
template <class T, std::size_t N>
inline constexpr bool is_plain_value<std::array<T, N>> = is_plain_value<T>;
template <class T>
inline constexpr bool is_plain_value<std::optional<T>> = is_plain_value<T>;
template <class A, class B>
inline constexpr bool is_plain_value<std::pair<A, B>> = is_plain_value<A> && is_plain_value<B>;
template <class... T>
inline constexpr bool is_plain_value<std::tuple<T...>> = (is_plain_value<T> && ...);

/// Makes an object that exists only if the block commits. After a roll-back of the outermost block its destructor has
/// run and its memory is free. After one of a nested block alone its destructor has run in the transaction that goes
/// on, or runs when the outermost block has ended: docs/semantics.md. Passes on what the constructor throws; then there
/// is no object, also where the block catches that and commits.
/// @throws std::bad_alloc  when memory for it or for the log of allocations runs out
/// @throws usage_error     when T wants an alignment beyond 4096 bytes
template <class T, class... Args>
[[nodiscard]] T* create(tx& t, Args&&... args) {
    void* const memory = detail::allocate(t, sizeof(T), alignof(T));
    T* object = nullptr;
    if constexpr (noexcept(::new (memory) T(std::forward<Args>(args)...))) {
        object = ::new (memory) T(std::forward<Args>(args)...);
    } else {
        detail::unlinked_memory guard{t, memory};
        object = ::new (memory) T(std::forward<Args>(args)...);
        guard.keep();
    }
    if constexpr (!std::is_trivially_destructible_v<T>) {
        detail::on_abort_destroy(t, object, [](void* p) {
            detail::annotate::destroy();
            static_cast<T*>(p)->~T();
        });
    }
    return object;
}

namespace detail {

/// Up to `Most` objects that the innermost block makes before it links them: they go again where that fails. So an
/// operation makes what it needs, reserves room for its writes, and only then changes anything that others can see.
template <std::size_t Most>
class unlinked {
public:
    explicit unlinked(tx& t) noexcept : t_{t} {}
    ~unlinked() {
        while (count_ != 0) abandon(t_, made_[--count_]);
    }
    unlinked(const unlinked&) = delete;
    unlinked& operator=(const unlinked&) = delete;

    /// REQUIRES: there are fewer than `Most`.
    template <class T, class... Args>
    T* make(Args&&... args) {
        T* const object = tutti::create<T>(t_, std::forward<Args>(args)...);
        made_[count_++] = const_cast<std::remove_cv_t<T>*>(object);
        return object;
    }
    /// They are linked, or about to be, and nothing can fail any more.
    void keep() noexcept { count_ = 0; }

private:
    tx& t_;
    std::size_t count_ = 0;
    std::array<void*, Most> made_{};
};

/// As `destroy`, for an object whose type is, or only holds, a value of type T. REQUIRES: it holds no variable.
template <class T, class Object>
void destroy_value(tx& t, Object* object) {
    if (object == nullptr) return;
    const auto retire = is_plain_value<T> ? &on_commit_retire_plain : &on_commit_retire;
    retire(t, const_cast<std::remove_cv_t<Object>*>(object), [](void* p) {
        annotate::destroy();
        delete static_cast<Object*>(p);
    });
}

}  // namespace detail

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

/// Destroys all that any thread's transactions have destroyed or replaced before the call, and returns when the
/// destructors have returned: waits until every transaction that was running at the call has ended. What liburcu calls
/// rcu_barrier. A program calls it before `dlclose`, because a destructor may be code of the object that is unloaded,
/// and before it looks whether anything has leaked. What these destructors retire themselves may wait for a further
/// call. A destructor must not wait for another thread's call, which waits for that destructor. O(threads + objects).
/// @throws usage_error     inside a transaction, a handler of one, or a destructor of a retired object
/// @throws std::bad_alloc  when memory runs out; some objects may wait as before
TUTTI_EXPORT void destroy_retired();

}  // namespace tutti
