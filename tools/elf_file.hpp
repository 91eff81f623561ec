// The properties of a program that decide which libraries it loads.
#pragma once

#include <optional>
#include <string>

namespace tutti::tools {

struct elf_file {
    bool dynamic = false;  ///< the program has a dynamic loader
    /// true if the program's own list of folders takes precedence over LD_LIBRARY_PATH (DT_RPATH without DT_RUNPATH)
    bool prefers_its_own_folders = false;
};

/// Reads the properties of a program. Returns nothing if the file cannot be read, or if it is not a 64-bit ELF file for
/// this machine but, for example, a script.
std::optional<elf_file> read_elf_file(const std::string& path);

}  // namespace tutti::tools
