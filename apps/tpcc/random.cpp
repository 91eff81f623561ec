#include "tpcc/random.hpp"

namespace tpcc {
namespace {

// Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014.
std::uint64_t split_mix(std::uint64_t& state) {
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

}  // namespace

std::uint64_t derive_seed(std::uint64_t seed, purpose what, std::uint64_t part) {
    std::uint64_t state = seed;
    state = split_mix(state) ^ static_cast<std::uint64_t>(what);
    state = split_mix(state) ^ part;
    return split_mix(state);
}

random_source::random_source(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = split_mix(seed);
}

nurand_constants nurand_constants::from_seed(std::uint64_t seed) {
    random_source random{derive_seed(seed, purpose::constants, 0)};
    nurand_constants c;
    c.customer = random.uniform(0, nurand_customer);
    c.item = random.uniform(0, nurand_item);
    c.last_name_load = random.uniform(0, nurand_last_name);
    // For every load constant there are valid run constants: at least one side of it has 65 numbers.
    do {
        c.last_name_run = random.uniform(0, nurand_last_name);
    } while (!valid_last_name_delta(c.last_name_load, c.last_name_run));
    return c;
}

}  // namespace tpcc
