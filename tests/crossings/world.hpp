// The places of the library that a program works on.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <tutti/containers/bounded_queue.hpp>
#include <tutti/containers/broadcast.hpp>
#include <tutti/containers/hash_map.hpp>
#include <tutti/containers/hash_set.hpp>
#include <tutti/containers/one_shot.hpp>
#include <tutti/containers/ordered_map.hpp>
#include <tutti/containers/ordered_multimap.hpp>
#include <tutti/containers/ordered_set.hpp>
#include <tutti/containers/priority_queue.hpp>
#include <tutti/containers/queue.hpp>
#include <tutti/containers/semaphore.hpp>
#include <tutti/containers/vector.hpp>
#include <tutti/tutti.hpp>

#include "places.hpp"
#include "program.hpp"

namespace crossings {

/// How many objects were made and destroyed; no transaction counts them.
struct census {
    std::atomic<long> made{0}, gone{0};
    [[nodiscard]] long alive() const { return made.load() - gone.load(); }
};
/// Of objects that blocks make, of values behind shared_ptr, and of what handlers have captured.
inline census of_objects, of_shares, of_captures;

/// What destructors that run blocks write.
inline tutti::var<long> ended_in_blocks{0};

struct member {
    explicit member(census& of) : of_{of} { ++of_.made; }
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    ~member() { ++of_.gone; }

private:
    census& of_;
};

/// Its destructor runs a block.
struct ends_in_a_block {
    explicit ends_in_a_block(census& of) : counted{of} {}
    ends_in_a_block(const ends_in_a_block&) = delete;
    ends_in_a_block& operator=(const ends_in_a_block&) = delete;
    ~ends_in_a_block() {
        tutti::atomically([](tutti::tx& t) { ended_in_blocks.set(t, ended_in_blocks.get(t) + 1); });
    }
    member counted;
};

/// What is behind a shared_ptr: its destructor runs a block where the number is odd.
struct shared_value {
    explicit shared_value(long n) : number{n} {}
    shared_value(const shared_value&) = delete;
    shared_value& operator=(const shared_value&) = delete;
    ~shared_value() {
        if (number % 2 != 0)
            tutti::atomically([](tutti::tx& t) { ended_in_blocks.set(t, ended_in_blocks.get(t) + 1); });
    }
    long number;
    member counted{of_shares};
};

/// What blocks make and drop.
struct object {
    explicit object(long n) : number{n} {}
    object(const object&) = delete;
    object& operator=(const object&) = delete;
    virtual ~object() = default;
    long number;
    member counted{of_objects};
};

class world {
public:
    world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    ~world();

    /// Does it as a part of the transaction, and returns a number that says what came of it.
    long apply(tutti::tx& t, step what, int first, int second);
    /// The same outside of any transaction, by the calls that are there for it.
    long apply_alone(step what, int first, int second);

    tutti::broadcast<long>& channel() { return channel_; }

    static constexpr char locks = 0;  ///< whose the abstract locks are

private:
    object* make(tutti::tx& t, int kind, long number);

    std::array<tutti::var<long>, words> word_;
    std::array<tutti::var<std::string>, texts> text_;
    std::array<tutti::var<std::shared_ptr<shared_value>>, shares> share_;
    std::array<long, plain_words> plain_{};
    std::array<tutti::var<object*>, objects> object_;
    tutti::hash_map<int, long> hash_;
    tutti::ordered_map<int, std::string> tree_;
    tutti::ordered_multimap<int, long> multi_;
    tutti::hash_set<int> hash_set_;
    tutti::ordered_set<int> tree_set_;
    tutti::queue<std::string> queue_;
    tutti::bounded_queue<long> ring_{ring_capacity};
    tutti::vector<std::string> vector_;
    tutti::priority_queue<long> heap_;
    tutti::one_shot<long> shot_;
    tutti::semaphore permits_{2};
    tutti::broadcast<long> channel_;
    std::optional<tutti::broadcast<long>::listener> listener_;
    tutti::counter count_;
    std::array<tutti::var<long>, sums> sum_;
};

}  // namespace crossings
