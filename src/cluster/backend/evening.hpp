// Has the groups of a prefix have about as many slots each, a few at a time; groups join, and leave with none
// (docs/cluster-replication.md, "Objects move").
//
// Thread safety: one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/backend/spread.hpp"

namespace tutti::cluster::backend {

class evening {
public:
    struct owner {
        layout::entry is;
        std::size_t slots = 0;
    };
    struct facts {
        std::vector<owner> groups;
        std::size_t slots = 0;
        std::size_t moved = 0, copied = 0, bytes = 0;
    };
    using tell = std::function<void(const facts&)>;

    /// Of an address as open_engine takes it. Throws refusal.
    evening(const std::string& address, const settings& how);

    [[nodiscard]] facts look();
    /// Each by the addresses of its members, with commas between. Throws refusal: one does not answer, or another
    /// program does the same.
    facts even_out(const std::vector<std::string>& joins, const std::vector<std::string>& leaves, const tell& told);

private:
    void join(const std::vector<std::string>& all);
    [[nodiscard]] std::set<std::uint64_t> numbers_of(const std::vector<std::string>& all) const;
    /// Has all groups say what `layout_` is.
    void say_layout();
    void open();
    /// False: they are even.
    [[nodiscard]] bool step(const std::set<std::uint64_t>& leaving);
    void finish_leaving(const std::set<std::uint64_t>& leaving);
    [[nodiscard]] std::vector<std::vector<std::uint32_t>> slots_by_parts();
    [[noreturn]] void refuse_silent() const;

    settings how_;
    std::map<std::uint64_t, std::vector<std::string>> named_;
    layout layout_;
    std::set<std::uint64_t> gone_;                       // had left before
    std::vector<std::unique_ptr<group_engine>> groups_;  // until `open`
    std::unique_ptr<spread> all_;
    facts done_;
    unsigned in_vain_ = 0;  // steps, one after the other; such as met a group that does not answer count six times
};

}  // namespace tutti::cluster::backend
