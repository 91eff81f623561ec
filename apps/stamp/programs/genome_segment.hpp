// Letters of a gene, and the segments that a sequencer reads of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stamp/random.hpp"

namespace stamp::genome {

inline constexpr std::size_t segment_length = 64;
/// Neighbours in the gene have at least this many letters in common. Two places of the gene practically never have this
/// many letters in common by chance.
inline constexpr std::size_t min_overlap = 32;

/// Two bits for each letter, the first letter in the highest two bits.
__extension__ using segment = unsigned __int128;

/// Returns the first `letters` letters, from 1 to 63.
[[nodiscard]] constexpr segment head(segment s, std::size_t letters) { return s >> (2 * (segment_length - letters)); }
/// Returns the last `letters` letters, from 1 to 63.
[[nodiscard]] constexpr segment tail(segment s, std::size_t letters) { return s & ((segment{1} << (2 * letters)) - 1); }

struct hash_of_segment {
    std::uint64_t operator()(segment s) const noexcept {
        return scrambled(static_cast<std::uint64_t>(s) + scrambled(static_cast<std::uint64_t>(s >> 64) + 1));
    }
};

using letters = std::vector<std::uint8_t>;

[[nodiscard]] inline segment segment_at(const letters& gene, std::size_t place) {
    segment s = 0;
    for (std::size_t i = 0; i < segment_length; ++i) s = s << 2 | gene[place + i];
    return s;
}

struct sample {
    letters gene;
    std::vector<segment> segments;  // of random places, many of them several times
};

/// Every letter of the gene is in the sample, and neighbours overlap by at least min_overlap.
[[nodiscard]] inline sample make_sample(std::size_t length, std::size_t count, std::uint64_t seed) {
    random_source random{seed};
    sample s;
    s.gene.resize(length);
    for (std::uint8_t& l : s.gene) l = random.below<std::uint8_t>(4);
    const std::size_t places = length - segment_length + 1;
    std::vector<bool> is_read(places);
    const auto read = [&](std::size_t place) {
        s.segments.push_back(segment_at(s.gene, place));
        is_read[place] = true;
    };
    read(0);
    read(places - 1);
    while (s.segments.size() < count) read(random.below(places));
    for (std::size_t place = 0, last = 0; place < places; ++place) {
        if (!is_read[place] && place - last == segment_length - min_overlap) read(place);
        if (is_read[place]) last = place;
    }
    random.shuffle(s.segments);
    return s;
}

}  // namespace stamp::genome
