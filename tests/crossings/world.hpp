// The library's objects that a program uses.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
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
#include "values.hpp"

namespace crossings {

/// The objects that blocks make and drop.
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

    /// Runs the step within the transaction, and returns a number that represents its result.
    long apply(tutti::tx& t, step what, int first, int second);
    /// Runs the step while allocations fail (`starved`), or while copies run blocks and fail (`fragile`). The first try
    /// fails at the first allocation or copy, the second try at the second, and so on, until the step succeeds. A
    /// failed try must have no effect. After `most` failures, the exception leaves this function.
    long apply_failing(tutti::tx& t, const node& n, std::uint64_t most);
    /// Runs the step outside of any transaction, with the calls for that purpose.
    long apply_alone(step what, int first, int second);

    tutti::broadcast<value>& channel() { return channel_; }

    static constexpr char locks = 0;  ///< the owner of the abstract locks

private:
    object* make(tutti::tx& t, int kind, long number);

    std::array<tutti::var<long>, words> word_;
    std::array<tutti::var<std::string>, texts> text_;
    std::array<tutti::var<std::shared_ptr<shared_value>>, shares> share_;
    std::array<tutti::var<value>, values> value_;
    std::array<long, plain_words> plain_{};
    std::array<tutti::var<object*>, objects> object_;
    tutti::hash_map<int, value> hash_;
    tutti::ordered_map<int, value> tree_;
    tutti::ordered_multimap<int, value> multi_;
    tutti::hash_set<int> hash_set_;
    tutti::ordered_set<int> tree_set_;
    tutti::queue<std::string> queue_;
    tutti::bounded_queue<value> ring_{ring_capacity};
    tutti::vector<value> vector_;
    tutti::priority_queue<value> heap_;
    tutti::one_shot<value> shot_;
    tutti::semaphore permits_{2};
    tutti::broadcast<value> channel_;
    std::optional<tutti::broadcast<value>::listener> listener_;
    tutti::counter count_;
    std::array<tutti::var<long>, sums> sum_;
};

}  // namespace crossings
