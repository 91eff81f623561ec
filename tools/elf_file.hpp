// What of a program decides which libraries it loads.
#pragma once

#include <optional>
#include <string>

namespace tutti::tools {

struct elf_file {
    bool dynamic = false;  ///< has a loader
    /// Its own list of folders comes before LD_LIBRARY_PATH (DT_RPATH without DT_RUNPATH).
    bool prefers_its_own_folders = false;
};

/// None: it is no 64-bit ELF file of this machine's kind, as scripts are not, or cannot be read.
std::optional<elf_file> examine(const std::string& path);

}  // namespace tutti::tools
