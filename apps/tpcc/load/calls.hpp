// Inputs of the five profiles as requests of the transaction server.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tpcc/driver.hpp"
#include "tpcc/inputs.hpp"

namespace tpcc::load {

/// The result of the procedure `scale`.
struct served_scale {
    int warehouses = 0;
    scale size;
    nurand_constants constants;
};

class call_source {
public:
    /// Uses the first `districts` districts of each warehouse.
    call_source(const served_scale& of, int districts, std::uint64_t seed);

    /// Appends a request of that profile, in RESP, for a random warehouse.
    void append(std::string& to, profile which);
    /// Does the same for a terminal: for its warehouse, and for Stock-Level its district.
    void append(std::string& to, profile which, warehouse_id home, district_id terminal);
    [[nodiscard]] profile draw_profile() noexcept;
    /// Returns the seconds until the next arrival of a Poisson process.
    [[nodiscard]] double draw_gap(double rate) noexcept;

private:
    [[nodiscard]] district_id among_ours(district_id d) const { return 1 + (d - 1) % districts_; }

    int warehouses_;
    int districts_;
    random_source random_;
    input_source inputs_;
};

/// Appends any request.
void append_request(std::string& to, std::initializer_list<std::string_view> words);
void append_request(std::string& to, const std::vector<std::string>& words);

}  // namespace tpcc::load
