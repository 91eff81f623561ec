/// @file
/// Plain memory in transactions: words that are not a `var`, and objects that a transaction creates or destroys.
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

/// A type for `load` and `store`: trivially copyable, of 1, 2, 4 or 8 bytes, naturally aligned.
template <class T>
concept plain_word =
    std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

/// Reads an ordinary word transactionally. REQUIRES: `from` is aligned to sizeof(T). A read costs one out-of-line call
/// under every algorithm.
///
/// While transactions can reach the memory, access it only through `load` and `store`. If a transaction has made memory
/// private, you may use that memory directly once the transaction's `atomically` has returned (unless the block waived
/// `options::privatization`).
/// @throws usage_error     if the address is not aligned
/// @throws std::bad_alloc  if memory for the logs runs out
template <plain_word T>
[[nodiscard]] T load(tx& t, const T* from) {
    const detail::word value = detail::access::ops(t).load(t, static_cast<const void*>(from), sizeof(T));
    detail::annotate::acquire(from);
    return detail::from_word<T>(value);
}

/// Writes an ordinary word transactionally. The rules and exceptions are those of `load`.
template <plain_word T>
void store(tx& t, T* to, const std::type_identity_t<T>& value) {
    detail::annotate::release(to);
    detail::access::ops(t).store(t, static_cast<void*>(to), sizeof(T), detail::to_word(value));
}

/// True if a value of type T is plain memory: its destruction neither touches nor frees a variable (a `var`, or memory
/// for `load` and `store`). A transaction destroys such a value early if the transaction has both made and replaced it.
/// So a block that sets a variable repeatedly needs no more memory than a block that sets it once. Any other value is
/// destroyed after the transaction. Specialize this variable as true for your own types that hold only such values.
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

/// Makes an object that exists only if the block commits. After a roll-back of the outermost block, its destructor has
/// run and its memory is free. After a roll-back of a nested block alone, its destructor has run in the transaction
/// that continues, or runs after the outermost block (docs/semantics.md). Rethrows exceptions of the constructor; then
/// there is no object, even if the block catches the exception and commits.
/// @throws std::bad_alloc  if memory for the object or for the log of allocations runs out
/// @throws usage_error     if T requires an alignment beyond 4096 bytes
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

/// Up to `Max` objects that the innermost block makes before it links them into a data structure. If the block cannot
/// link the objects, they are destroyed. So an operation makes its objects, reserves log space for its writes, and only
/// then changes anything that others can see.
template <std::size_t Max>
class unlinked {
public:
    explicit unlinked(tx& t) noexcept : t_{t} {}
    ~unlinked() {
        while (count_ != 0) abandon(t_, made_[--count_]);
    }
    unlinked(const unlinked&) = delete;
    unlinked& operator=(const unlinked&) = delete;

    /// REQUIRES: the block has made fewer than `Max` objects.
    template <class T, class... Args>
    T* make(Args&&... args) {
        T* const object = tutti::create<T>(t_, std::forward<Args>(args)...);
        made_[count_++] = const_cast<std::remove_cv_t<T>*>(object);
        return object;
    }
    /// Keeps the objects: they are linked now, or the rest of the linking cannot fail.
    void keep() noexcept { count_ = 0; }

private:
    tx& t_;
    std::size_t count_ = 0;
    std::array<void*, Max> made_{};
};

/// Destroys an object as `destroy` does. The object is a value of type T, or contains only such a value. REQUIRES: the
/// object contains no variable.
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

/// Destroys an object that was made by `create` or by `new`, if and when the transaction commits. The object's
/// destructor runs once no running transaction can still see the object, outside any transaction and on any thread.
/// Ignores null. T may be a base class with a virtual destructor. T must not have its own `operator delete`.
/// @throws std::bad_alloc  if memory for the logs runs out; the commit itself must not need memory
template <class T>
void destroy(tx& t, T* object) {
    if (object == nullptr) return;
    detail::on_commit_retire(t, const_cast<std::remove_cv_t<T>*>(object), [](void* p) {
        detail::annotate::destroy();
        delete static_cast<T*>(p);
    });
}

/// Destroys all objects that any thread's transactions have destroyed or replaced before the call. Waits until every
/// transaction that was running at the call has ended, and returns when the destructors have returned. liburcu calls
/// such a function rcu_barrier. Call it before `dlclose`, because a destructor may be code of the unloaded object, and
/// before a check for leaks. Objects that these destructors retire may wait for a further call. A destructor must not
/// wait for another thread's call of this function, because that call waits for the destructor. O(threads + objects).
/// @throws usage_error     inside a transaction, a handler of one, or a destructor of a retired object
/// @throws std::bad_alloc  if memory runs out; some objects may not be destroyed yet in this case
TUTTI_EXPORT void destroy_retired();

}  // namespace tutti
