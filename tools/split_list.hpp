// Lists of addresses on the command line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

inline std::vector<std::string> split_list(std::string_view all) {
    std::vector<std::string> parts;
    while (!all.empty()) {
        const std::size_t comma = std::min(all.find(','), all.size());
        parts.emplace_back(all.substr(0, comma));
        all.remove_prefix(std::min(comma + 1, all.size()));
    }
    return parts;
}

}  // namespace tutti::tools
