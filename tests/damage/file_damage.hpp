// Damage to files, as disks, file systems and operators cause it. The functions damage one file at a time. A seed
// determines the file and the damage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace tutti::damage {

enum class kind : std::uint8_t {
    none,
    bit,          ///< one bit is flipped
    bytes,        ///< up to 64 bytes are changed
    zeros,        ///< a page is zero
    noise,        ///< a page is random
    cut,          ///< the file ends at some byte
    cut_at_page,  ///< the file ends after some page
    exchanged,    ///< two pages are exchanged
    repeated,     ///< a page replaces another one
    longer,       ///< a page of zeros or of noise follows the end
    gone,         ///< the file is removed
    of_another,   ///< replaced by the file of another replica
    older,        ///< replaced by its own version of an earlier round
    count
};
[[nodiscard]] const char* name_of(kind k);

/// The decisions about one damage. They do not depend on the files, so the same seed gives the same decisions.
struct draw {
    explicit draw(support::random& dice);
    kind what;
    std::uint64_t file, place, other, size, donor;
};

/// The files of one replica that may be damaged, and sources of other files with the same names.
struct target {
    std::vector<std::string> files;    ///< in an order that does not depend on the system
    std::vector<std::string> donors;   ///< folders of other replicas, with the same names
    std::string earlier;               ///< folder of earlier versions, with the same names
    std::vector<std::uint64_t> pages;  ///< sizes of the pieces that the program writes
};

struct done {
    kind what = kind::none;  ///< `none` if the files did not allow the drawn damage
    std::string file;
    std::string text;  ///< a description for people
};

/// Damages one file. O(bytes of the file).
done apply(const draw& d, const target& of);

/// Returns the bytes of the file, or an empty string if the file does not exist.
[[nodiscard]] std::string bytes_of(const std::string& file);

/// Returns a digest that tells versions of these files apart. Takes time in proportion to their bytes, and constant
/// memory.
[[nodiscard]] std::string digest_of(const std::vector<std::string>& files);

}  // namespace tutti::damage
