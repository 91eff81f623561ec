// The operations of a simulated transaction's body: opening, reading, writing, making and erasing objects.
#pragma once

#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cluster/protocol/transaction.hpp"
#include "tests/support/random.hpp"

namespace bench::cluster {

using tutti::cluster::object_entry;
using tutti::cluster::object_id;
using tutti::cluster::protocol_status;

/// Leaves a body whose transaction has lost a conflict.
struct overtaken {};

template <class T>
std::string bytes_of(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Small enough to start again for each operation, so that a repeated operation draws the same numbers.
using dice = tutti::support::random;

class block {
public:
    /// `charge` takes the processor time for the given number of opened objects. `singly`: each object costs its own
    /// round trip.
    block(tutti::cluster::distributed_transaction& work, bool singly, std::function<void(std::size_t)> charge)
        : work_{work}, singly_{singly}, charge_{std::move(charge)} {}

    /// Opens all objects in one round trip, unless `singly`.
    void open(std::span<const object_id> ids) {
        const std::size_t most = singly_ ? 1 : ids.size();
        for (; !ids.empty(); ids = ids.subspan(most)) open_together(ids.first(most));
    }
    [[nodiscard]] bool exists(const object_id& id) {
        const object_entry& e = at(id);
        return e.written ? e.will_exist : e.exists;
    }
    template <class T>
    [[nodiscard]] T read(const object_id& id) {
        const object_entry& e = at(id);
        const std::string& bytes = e.written ? e.fresh : e.bytes;
        T value{};
        std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
        return value;
    }
    template <class T>
    void write(const object_id& id, const T& value) {
        object_entry& e = at(id);
        e.written = e.will_exist = true;
        e.fresh = bytes_of(value);
    }
    void erase(const object_id& id) {
        object_entry& e = at(id);
        e.written = true;
        e.will_exist = false;
        e.fresh.clear();
    }

private:
    void open_together(std::span<const object_id> ids) {
        const std::size_t before = work_.entries().size();
        const protocol_status o = work_.open(ids);
        if (const std::size_t fresh = work_.entries().size() - before; fresh != 0) charge_(fresh);
        if (o == protocol_status::conflict) throw overtaken{};
        if (o != protocol_status::good)
            throw std::logic_error{"the simulated network loses nothing, but a node was lost"};
    }
    object_entry& at(const object_id& id) {
        if (object_entry* const e = work_.find(id)) return *e;
        open({&id, 1});
        return *work_.find(id);
    }

    tutti::cluster::distributed_transaction& work_;
    const bool singly_;
    std::function<void(std::size_t)> charge_;
};

}  // namespace bench::cluster
