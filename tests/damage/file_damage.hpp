// Damage to files, as disks, file systems and operators do it: one file at a time, drawn from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace tutti::damage {

enum class kind : std::uint8_t {
    none,
    bit,          ///< one bit is another
    bytes,        ///< up to 64 bytes are others
    zeros,        ///< a page is zero
    noise,        ///< a page is random
    cut,          ///< the file ends at some byte
    cut_at_page,  ///< the file ends behind some page
    exchanged,    ///< two pages have changed places
    repeated,     ///< a page is in the place of another
    longer,       ///< a page of zeros or of noise follows the end
    gone,         ///< the file is removed
    of_another,   ///< the file of another replica
    older,        ///< the same file as it was in an earlier round
    count
};
[[nodiscard]] const char* name_of(kind k);

/// All that one damage needs to be decided, drawn before anything is known of the files: so a seed repeats it.
struct draw {
    explicit draw(support::random& dice);
    kind what;
    std::uint64_t file, place, other, size, donor;
};

/// The files of one replica that may be damaged, and where others of the same name are to be had.
struct target {
    std::vector<std::string> files;    ///< in an order that does not depend on the system
    std::vector<std::string> donors;   ///< folders of other replicas, with the same names
    std::string earlier;               ///< folder of earlier versions, with the same names
    std::vector<std::uint64_t> pages;  ///< sizes of the pieces that the program writes
};

struct done {
    kind what = kind::none;  ///< `none` where the files did not allow what was drawn
    std::string file;
    std::string text;  ///< for people
};

/// Damages one file. O(bytes of the file).
done apply(const draw& d, const target& of);

/// Empty if the file is not there.
[[nodiscard]] std::string bytes_of(const std::string& file);

/// Tells versions of these files apart. Takes time in proportion to their bytes, and constant memory.
[[nodiscard]] std::string digest_of(const std::vector<std::string>& files);

}  // namespace tutti::damage
