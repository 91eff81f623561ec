/// @file
/// Transactional variables.
#pragma once

#include <concepts>
#include <type_traits>

#include "tutti/memory.hpp"

namespace tutti {

namespace detail {

/// Whether a T lives in the variable's own word; any other T lives in an immutable node behind it.
template <class T>
inline constexpr bool in_place = std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(word);

}  // namespace detail

/// A variable that transactions read and write: 16 bytes, its word and its own ownership record.
///
/// Strongly atomic: `load` and `store` outside a transaction behave as transactions of one access. A `var` must
/// outlive every transaction that can reach it; inside a transaction, make and destroy objects that hold variables
/// with `create` and `destroy`, which see to that.
///
/// Values of up to eight bytes that are trivially copyable live in place. Any other copyable T (std::string,
/// std::shared_ptr, large structs) lives in an immutable node: `set` allocates a new one, and the old one is reclaimed
/// when no transaction can still see it.
///
/// A value is always copied in, never moved from: a body that runs again must find what it passed the first time.
template <class T>
class var;

template <class T>
    requires detail::in_place<T>
class var<T> {
public:
    using value_type = T;

    constexpr var() noexcept
        requires std::is_trivially_default_constructible_v<T>
    = default;
    var() noexcept(std::is_nothrow_default_constructible_v<T>)
        requires(!std::is_trivially_default_constructible_v<T> && std::default_initializable<T>)
        : cell_{detail::to_word(T{})} {}
    explicit(false) var(const T& initial) noexcept : cell_{detail::to_word(initial)} {}
    constexpr explicit(false) var(const T& initial) noexcept
        requires std::integral<T>
        : cell_{static_cast<detail::word>(
              static_cast<std::make_unsigned_t<std::conditional_t<std::same_as<T, bool>, unsigned char, T>>>(
                  initial))} {}
    var(const var&) = delete;
    var& operator=(const var&) = delete;

    /// The value as of the transaction's snapshot, or what the transaction itself wrote. About 2 ns when cached.
    [[nodiscard]] TUTTI_ALWAYS_INLINE T get(tx& t) const {
        return detail::from_word<T>(detail::access::read(t, cell_));
    }
    /// Takes effect when the transaction commits. Diagnosed in a read-only block and outside a transaction.
    TUTTI_ALWAYS_INLINE void set(tx& t, const T& value) { detail::access::write(t, cell_, detail::to_word(value)); }

    /// One atomic read. Inside a transaction of this thread it is part of it.
    [[nodiscard]] T load() const { return detail::from_word<T>(detail::read_alone(cell_)); }
    /// One atomic write. Inside a transaction of this thread it is part of it.
    void store(const T& value) { detail::write_alone(cell_, detail::to_word(value)); }

private:
    detail::cell cell_;
};

template <class T>
    requires(!detail::in_place<T> && std::copyable<T>)
class var<T> {
public:
    using value_type = T;

    var()
        requires std::default_initializable<T>
        : cell_{as_word(new node{T{}})} {}
    explicit(false) var(const T& initial) : cell_{as_word(new node{initial})} {}
    template <class... Args>
        requires std::constructible_from<T, Args...>
    explicit var(std::in_place_t, Args&&... args) : cell_{as_word(new node{T(std::forward<Args>(args)...)})} {}
    var(const var&) = delete;
    var& operator=(const var&) = delete;
    ~var() { delete as_node(cell_.value.raw().load(std::memory_order_relaxed)); }

    /// The value as of the transaction's snapshot. The reference is good until the outermost block ends (to a value
    /// that a nested block set, until that block is rolled back): copy what has to live longer (returning `get(t)` from
    /// a body without a declared return type copies).
    [[nodiscard]] const T& get(tx& t) const { return as_node(detail::access::read(t, cell_))->value; }
    /// Copies `value` into a new node. What T's copy constructor throws leaves the block.
    void set(tx& t, const T& value) {
        node* const fresh = create<node>(t, value);
        node* const old = as_node(detail::access::read(t, cell_));
        detail::access::write_owning(t, cell_, as_word(fresh));
        destroy(t, old);
    }

    /// One atomic read, a copy. Inside a transaction of this thread it is part of it.
    [[nodiscard]] T load() const;
    /// One atomic write. Inside a transaction of this thread it is part of it.
    void store(const T& value);

private:
    struct node {
        T value;
    };
    static detail::word as_word(node* n) noexcept { return reinterpret_cast<detail::word>(n); }
    static node* as_node(detail::word w) noexcept { return reinterpret_cast<node*>(w); }

    detail::cell cell_;
};

}  // namespace tutti
