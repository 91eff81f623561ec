// Random character columns (clauses 4.3.2.2, 4.3.2.3, 4.3.2.7 and 4.3.3.1).
#pragma once

#include <span>
#include <string_view>

#include "tpcc/random.hpp"
#include "tpcc/rows.hpp"

namespace tpcc {

/// Fills with letters and digits (a-string), with letters, or with digits (n-string).
void fill_alphanumeric(random_source& random, std::span<char> to);
void fill_letters(random_source& random, std::span<char> to);
void fill_digits(random_source& random, std::span<char> to);

/// a-string [shortest .. longest].
template <std::size_t Capacity>
void make_a_string(random_source& random, text<Capacity>& to, int shortest, int longest) {
    fill_alphanumeric(random, to.resize(static_cast<std::size_t>(random.uniform(shortest, longest))));
}

/// I_DATA and S_DATA: a-string [26 .. 50] that contains "ORIGINAL" in 10 % of the rows.
void make_data(random_source& random, text<50>& to);
[[nodiscard]] inline bool holds_original(const text<50>& data) {
    return data.view().find("ORIGINAL") != std::string_view::npos;
}

void make_address(random_source& random, address& to);

/// Returns C_LAST for a number in 0 … 999: one syllable for each digit.
[[nodiscard]] text<16> last_name(int number);

}  // namespace tpcc
