// The index of a district's customers by last name, sorted by first name (clauses 2.5.2.2 and 2.6.2.2).
//
// Not transactional: no transaction adds a customer or changes a name, so after the load it only is read.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "tpcc/rows.hpp"

namespace tpcc {

class customer_names {
public:
    /// Indexes all of them. The rows must stay where they are.
    void build(std::span<customer> all);

    /// The customers of that last name by ascending first name; empty when there are none. O(log names).
    [[nodiscard]] std::span<customer* const> find(std::string_view last) const;

    /// The one a terminal means by a last name: number ceil(n/2) of the n that have it. Null when there are none.
    [[nodiscard]] customer* middle(std::string_view last) const;

private:
    struct entry {
        text<16> last;
        std::size_t begin = 0;  // of its customers in sorted_; they end where the next entry begins
    };

    std::vector<entry> names_;  // by name
    std::vector<customer*> sorted_;
};

}  // namespace tpcc
