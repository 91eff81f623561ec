// The index of a district's customers by last name, sorted by first name (clauses 2.5.2.2 and 2.6.2.2).
//
// The index is not transactional: no transaction adds a customer or changes a name, so it is read-only after the load.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "tpcc/rows.hpp"

namespace tpcc {

class customer_names {
public:
    /// Indexes all customers. The rows must keep their addresses.
    void build(std::span<customer> all);

    /// Returns the customers with that last name by ascending first name; empty if there are none. O(log names).
    [[nodiscard]] std::span<customer* const> find(std::string_view last) const;

    /// Returns the customer that a terminal selects by a last name: number ceil(n/2) of the n with that name. Null if n
    /// is 0.
    [[nodiscard]] customer* middle(std::string_view last) const;

private:
    struct entry {
        text<16> last;
        std::size_t begin = 0;  // index of its first customer in sorted_; its customers end where the next entry begins
    };

    std::vector<entry> names_;  // sorted by name
    std::vector<customer*> sorted_;
};

}  // namespace tpcc
