/// @file
/// Transactional variables.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "tutti/memory.hpp"

namespace tutti {

namespace detail {

/// True if T is stored in the variable's own word. Any other T is stored in an immutable node to which the word points.
template <class T>
inline constexpr bool in_place =
    std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && sizeof(T) <= sizeof(word);

}  // namespace detail

/// A variable that transactions read and write. A `var` takes 16 bytes: a word and its own ownership record.
///
/// Strongly atomic: `load` and `store` outside a transaction behave as transactions of one access. A `var` must outlive
/// every transaction that can reach it. Inside a transaction, make and destroy objects that hold variables by `create`
/// and `destroy`, which ensure this lifetime.
///
/// Trivially copyable values of up to eight bytes are stored in place. Any other copyable T (std::string,
/// std::shared_ptr, large structs) is stored in an immutable node. `set` allocates a new node, and the old node is
/// reclaimed when no transaction can still see it.
///
/// `set` always copies its argument and never moves from it, because the body may run again, and then needs the same
/// argument.
template <class T>
class var {
    static_assert(std::copyable<T>,
                  "tutti::var<T> needs a T that can be copied, because a body that runs again finds its values again. "
                  "Hold one that can only be moved by std::shared_ptr<T>, or make it with tutti::create and keep a "
                  "pointer to it; a std::atomic<T> needs no var: use var<T>");
};

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

    /// Returns the value of the transaction's snapshot, or the value that the transaction has written. About 2 ns when
    /// cached.
    [[nodiscard]] TUTTI_ALWAYS_INLINE T get(tx& t) const {
        return detail::from_word<T>(detail::access::read(t, cell_));
    }
    /// Writes a value, which takes effect when the transaction commits. The call is an error of use in a read-only
    /// block and outside a transaction.
    TUTTI_ALWAYS_INLINE void set(tx& t, const T& value) { detail::access::write(t, cell_, detail::to_word(value)); }

    /// Replaces the value by f(value), and returns the new value.
    template <std::invocable<const T&> F>
        requires std::convertible_to<std::invoke_result_t<F, const T&>, T>
    T update(tx& t, F&& f) {
        const T changed = std::invoke(std::forward<F>(f), std::as_const(*this).get(t));
        set(t, changed);
        return changed;
    }
    /// Replaces the value, and returns the old value.
    T exchange(tx& t, const T& value) {
        const T before = get(t);
        set(t, value);
        return before;
    }
    /// Exchanges the values of two variables.
    void swap(tx& t, var& other) {
        const T mine = get(t);
        const T theirs = other.get(t);
        detail::reserve(t, 2, 0);
        set(t, theirs);
        other.set(t, mine);
    }

    /// Reads the variable atomically. If this thread runs a transaction, the read is part of it.
    [[nodiscard]] T load() const {
        const detail::word value = detail::read_alone(cell_);
        detail::annotate::acquire(&cell_);
        return detail::from_word<T>(value);
    }
    /// Writes the variable atomically. If this thread runs a transaction, the write is part of it.
    void store(const T& value) {
        detail::annotate::release(&cell_);
        detail::write_alone(cell_, detail::to_word(value));
    }

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

    /// Returns the value of the transaction's snapshot. The reference is valid until the outermost block ends. A
    /// reference to a value that this transaction has set ends earlier. Such a reference is valid until the transaction
    /// sets the variable again, or rolls back the nested block that set it. Copy values that must live longer
    /// (returning `get(t)` from a body without a declared return type copies).
    [[nodiscard]] const T& get(tx& t) const { return as_node(detail::access::read(t, cell_))->value; }
    /// Copies `value` into a new node. `value` may be a part of the variable's own value. If T's copy constructor
    /// throws, the exception leaves this function and the variable keeps its value.
    void set(tx& t, const T& value) {
        node* const old = as_node(detail::access::read(t, cell_));
        detail::unlinked<1> made{t};
        node* const fresh = made.template make<node>(value);
        detail::reserve(t, 1, 1);
        detail::access::write(t, cell_, as_word(fresh));
        made.keep();
        detail::destroy_value<T>(t, old);
    }

    /// Replaces the value by f(value), and returns the new value, as `get` does.
    template <std::invocable<const T&> F>
        requires std::convertible_to<std::invoke_result_t<F, const T&>, T>
    const T& update(tx& t, F&& f) {
        set(t, std::invoke(std::forward<F>(f), get(t)));
        return get(t);
    }
    /// Replaces the value, and returns a copy of the old value.
    T exchange(tx& t, const T& value) {
        T before = get(t);
        set(t, value);
        return before;
    }
    /// Exchanges the values of two variables, without copies.
    void swap(tx& t, var& other) {
        const detail::word mine = detail::access::read(t, cell_);
        const detail::word theirs = detail::access::read(t, other.cell_);
        if (mine == theirs) return;
        detail::reserve(t, 2, 0);
        detail::access::write(t, cell_, theirs);
        detail::access::write(t, other.cell_, mine);
    }

    /// Reads a copy of the value atomically. If this thread runs a transaction, the read is part of it.
    [[nodiscard]] T load() const;
    /// Writes the variable atomically. If this thread runs a transaction, the write is part of it.
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
