#include "tpcc/strings.hpp"

#include <algorithm>
#include <array>

namespace tpcc {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

void fill(random_source& random, std::span<char> to, std::string_view alphabet) {
    const int last = static_cast<int>(alphabet.size()) - 1;
    for (char& c : to) c = alphabet[static_cast<std::size_t>(random.uniform(0, last))];
}

}  // namespace

void fill_alphanumeric(random_source& random, std::span<char> to) { fill(random, to, alphanumeric); }
void fill_letters(random_source& random, std::span<char> to) { fill(random, to, letters); }
void fill_digits(random_source& random, std::span<char> to) { fill(random, to, digits); }

void make_data(random_source& random, text<50>& to) {
    constexpr std::string_view original = "ORIGINAL";
    const std::span<char> all = to.resize(static_cast<std::size_t>(random.uniform(26, 50)));
    fill_alphanumeric(random, all);
    if (random.percent(10)) {
        const int at = random.uniform(0, static_cast<int>(all.size() - original.size()));
        std::ranges::copy(original, all.begin() + at);
    }
}

void make_address(random_source& random, address& to) {
    make_a_string(random, to.street_1, 10, 20);
    make_a_string(random, to.street_2, 10, 20);
    make_a_string(random, to.city, 10, 20);
    fill_letters(random, to.state.resize(2));
    fill_digits(random, to.zip.resize(4));
    to.zip.append("11111");
}

text<16> last_name(int number) {
    static constexpr std::array<std::string_view, 10> syllables{"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                                "ESE", "ANTI",  "CALLY", "ATION", "EING"};
    text<16> name;
    name.append(syllables[static_cast<std::size_t>(number / 100 % 10)]);
    name.append(syllables[static_cast<std::size_t>(number / 10 % 10)]);
    name.append(syllables[static_cast<std::size_t>(number % 10)]);
    return name;
}

}  // namespace tpcc
