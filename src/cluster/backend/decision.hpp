// The decision about a transaction of several groups. It is stored as a record of the deciding group, and the first
// write of this record decides.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

struct decision {
    enum class state : std::uint8_t { open, committed, aborted } is = state::open;
    std::vector<std::uint64_t> prepared_in;  ///< if committed: the numbers of the groups that have to finish the
                                             ///< transaction
    version at = 0;                          ///< version of the record

    [[nodiscard]] static key key_of(std::string_view id) { return "t" + std::string{id}; }
    [[nodiscard]] static std::string aborted() { return "void"; }
    [[nodiscard]] static std::string committed(const std::vector<std::uint64_t>& prepared_in) {
        std::string all = "done";
        for (const std::uint64_t n : prepared_in) all += " " + std::to_string(n);
        return all;
    }
    /// Reads the stored form.
    [[nodiscard]] static decision parse(const record& r) {
        decision d{state::open, {}, r.at};
        if (!r.exists) return d;
        d.is = r.bytes.starts_with("done") ? state::committed : state::aborted;
        for (std::string_view left{r.bytes}; !left.empty();) {
            const std::size_t space = std::min(left.find(' '), left.size());
            std::uint64_t number = 0;
            if (std::from_chars(left.data(), left.data() + space, number).ec == std::errc{})
                d.prepared_in.push_back(number);
            left.remove_prefix(std::min(space + 1, left.size()));
        }
        return d;
    }
};

}  // namespace tutti::cluster::backend
