#include "elf_file.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <vector>

namespace tutti::tools {
namespace {

/// Reads `count` objects at `offset`. Returns false if the file is too short.
template <class T>
bool read_at(std::ifstream& from, std::uint64_t offset, T* to, std::size_t count) {
    from.clear();
    from.seekg(static_cast<std::streamoff>(offset));
    from.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count * sizeof(T)));
    return static_cast<bool>(from);
}

bool is_ours(const Elf64_Ehdr& header) {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_machine == EM_X86_64 && header.e_phentsize == sizeof(Elf64_Phdr);
}

bool prefers_its_own(std::ifstream& from, const Elf64_Phdr& dynamic) {
    bool path = false;
    bool run_path = false;
    Elf64_Dyn entry{};
    for (std::uint64_t at = 0; at + sizeof entry <= dynamic.p_filesz; at += sizeof entry) {
        if (!read_at(from, dynamic.p_offset + at, &entry, 1) || entry.d_tag == DT_NULL) break;
        path = path || entry.d_tag == DT_RPATH;
        run_path = run_path || entry.d_tag == DT_RUNPATH;
    }
    return path && !run_path;
}

}  // namespace

std::optional<elf_file> read_elf_file(const std::string& path) {
    std::ifstream from{path, std::ios::binary};
    Elf64_Ehdr header{};
    if (!read_at(from, 0, &header, 1) || !is_ours(header)) return std::nullopt;
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    if (!read_at(from, header.e_phoff, segments.data(), segments.size())) return std::nullopt;
    elf_file found;
    for (const Elf64_Phdr& s : segments) {
        if (s.p_type == PT_INTERP) found.dynamic = true;
        if (s.p_type == PT_DYNAMIC) found.prefers_its_own_folders = prefers_its_own(from, s);
    }
    return found;
}

}  // namespace tutti::tools
