// Inputs of the five profiles as requests of the transaction server.
#pragma once

#include <string>

#include "tpcc/driver.hpp"
#include "tpcc/inputs.hpp"

namespace tpcc::load {

/// What the procedure `scale` answers.
struct served_scale {
    int warehouses = 0;
    scale size;
    nurand_constants constants;
};

class call_source {
public:
    call_source(const served_scale& of, std::uint64_t seed);

    /// Appends a request of that profile, in RESP.
    void append(std::string& to, profile which);
    [[nodiscard]] profile draw_profile() noexcept;
    /// Seconds to the next arrival of a Poisson process.
    [[nodiscard]] double draw_gap(double rate) noexcept;

private:
    int warehouses_;
    random_source random_;
    input_source inputs_;
};

/// Appends any request.
void append_request(std::string& to, std::initializer_list<std::string_view> words);

}  // namespace tpcc::load
