// Types whose special members are user code: they count, run blocks, and fail on request.
#pragma once

#include <atomic>
#include <compare>

#include <tutti/tutti.hpp>

#include "failing.hpp"

namespace crossings {

/// The numbers of objects made and destroyed, counted without transactions.
struct object_count {
    std::atomic<long> made{0}, gone{0};
    [[nodiscard]] long alive() const { return made.load() - gone.load(); }
};
/// Counts objects that blocks make, values behind shared_ptr, captures of handlers, and values that are copied.
inline object_count of_objects, of_shares, of_captures, of_values;

/// The blocks of special members. Each block counts itself in a variable, and in a handler after its commit. The two
/// counts are therefore equal while no block runs.
class member_blocks {
public:
    /// Runs a block. If `restarts`, an outermost block of its thread restarts once.
    void run(bool restarts = false);

    /// Returns the number of blocks whose effect is in the variable.
    [[nodiscard]] long in_variable() const { return counted_.load(); }
    /// Returns the number of blocks whose commit handler ran.
    [[nodiscard]] long committed() const { return committed_.load(); }
    /// Returns the number of outermost blocks that have returned; each of them has committed.
    [[nodiscard]] long returned() const { return returned_.load(); }

private:
    tutti::var<long> counted_{0};
    std::atomic<long> committed_{0}, returned_{0};
};
inline member_blocks in_destructors, in_copies;

struct member {
    explicit member(object_count& of) : of_{of} { ++of_.made; }
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    ~member() { ++of_.gone; }

private:
    object_count& of_;
};

/// A type whose destructor runs a block.
struct ends_in_a_block {
    explicit ends_in_a_block(object_count& of, bool restarts_once = false) : counted{of}, restarts{restarts_once} {}
    ends_in_a_block(const ends_in_a_block&) = delete;
    ends_in_a_block& operator=(const ends_in_a_block&) = delete;
    ~ends_in_a_block() { in_destructors.run(restarts); }
    member counted;
    bool restarts;
};

/// The value behind a shared_ptr; its destructor runs a block if the number is odd.
struct shared_value {
    explicit shared_value(long n) : number{n} {}
    shared_value(const shared_value&) = delete;
    shared_value& operator=(const shared_value&) = delete;
    ~shared_value() {
        if (number % 2 != 0) in_destructors.run();
    }
    long number;
    member counted{of_shares};
};

/// A value for variables and containers. Its copies run blocks and fail as failing.hpp describes. The destructor of
/// such a copy runs a block, unless a transaction runs there.
class value {
public:
    explicit(false) value(long n = 0) : number_{n} {}
    value(const value& other) : number_{other.number_} { copied(); }
    value& operator=(const value& other) {
        copied();
        number_ = other.number_;
        return *this;
    }
    ~value();

    [[nodiscard]] long number() const { return number_; }
    friend bool operator==(const value& a, const value& b) { return a.number_ == b.number_; }
    friend auto operator<=>(const value& a, const value& b) { return a.number_ <=> b.number_; }

private:
    /// Throws copy_failure if this copy must fail.
    void copied();

    member counted_{of_values};
    long number_;
    bool ends_in_a_block_ = false;
};

}  // namespace crossings
