#include "server/calls/object_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <string_view>

namespace tutti::server {
namespace {

constexpr detail::object_layout of_server = detail::layout_of_this_object();

/// The bytes of a file; empty if the file cannot be read.
class mapped_file {
public:
    explicit mapped_file(const std::string& path) noexcept {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        struct stat about{};
        if (::fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
            const auto size = static_cast<std::size_t>(about.st_size);
            void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
            if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), size};
        }
        ::close(file);
    }
    ~mapped_file() {
        if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
    }
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;

    /// Copies element number `index` of an array that begins at `offset`. Returns false if the file ends before the end
    /// of the element.
    template <class T>
    bool read(T& to, std::uint64_t offset, std::uint64_t index = 0) const noexcept {
        if (offset > bytes_.size() || index >= (bytes_.size() - offset) / sizeof(T)) return false;
        std::memcpy(&to, bytes_.data() + offset + index * sizeof(T), sizeof(T));
        return true;
    }
    /// Returns true if the text at `offset` is `text`.
    [[nodiscard]] bool has(std::uint64_t offset, std::string_view text) const noexcept {
        return offset <= bytes_.size() && bytes_.size() - offset > text.size() &&
               std::string_view{bytes_.data() + offset, text.size()} == text && bytes_[offset + text.size()] == 0;
    }

private:
    std::span<const char> bytes_;
};

/// The dynamic symbols of an object.
class object_file {
public:
    explicit object_file(const mapped_file& file) noexcept : file_{file} {
        known_ = file.read(header_, 0) && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
                 header_.e_ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                 header_.e_shentsize == sizeof(section) && header_.e_phentsize == sizeof(ElfW(Phdr)) && find_symbols();
    }
    [[nodiscard]] bool is_known() const noexcept { return known_; }
    /// Finds the address of a symbol. Returns false if the object does not define it.
    [[nodiscard]] bool find(std::string_view name, std::uint64_t& address) const noexcept {
        ElfW(Sym) s;
        for (std::uint64_t i = 0; i != symbols_.sh_size / sizeof s && file_.read(s, symbols_.sh_offset, i); ++i) {
            if (s.st_shndx == SHN_UNDEF || !file_.has(names_.sh_offset + s.st_name, name)) continue;
            address = s.st_value;
            return true;
        }
        return false;
    }
    /// Copies the contents at an address of the loaded object. Returns false if the file does not contain this address.
    template <class T>
    bool read_at(std::uint64_t address, T& to) const noexcept {
        ElfW(Phdr) p;
        for (std::uint64_t i = 0; i != header_.e_phnum && file_.read(p, header_.e_phoff, i); ++i) {
            if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
                return file_.read(to, p.p_offset + (address - p.p_vaddr));
        }
        return false;
    }

private:
    using section = ElfW(Shdr);

    bool find_symbols() noexcept {
        for (std::uint64_t i = 0; i != header_.e_shnum && file_.read(symbols_, header_.e_shoff, i); ++i) {
            if (symbols_.sh_type == SHT_DYNSYM) return file_.read(names_, header_.e_shoff, symbols_.sh_link);
        }
        return false;
    }

    const mapped_file& file_;
    ElfW(Ehdr) header_ {};
    section symbols_{}, names_{};
    bool known_ = false;
};

std::string difference(const detail::object_layout& l) {
    if (std::memcmp(l.magic, of_server.magic, sizeof l.magic) != 0 || l.version != of_server.version)
        return "for another version of Tutti";
    if (l.libcxx != of_server.libcxx)
        return l.libcxx != 0 ? "with libc++, and this server is built with libstdc++"
                             : "with libstdc++, and this server is built with libc++";
    if (l.debug_containers != of_server.debug_containers)
        return l.debug_containers != 0 ? "with _GLIBCXX_DEBUG, and this server is not"
                                       : "without _GLIBCXX_DEBUG, and this server is compiled with it";
    if (l.new_strings != of_server.new_strings)
        return "with _GLIBCXX_USE_CXX11_ABI=" + std::to_string(l.new_strings) + ", and this server with " +
               std::to_string(of_server.new_strings);
    return "with other sizes of the types that it shares with this server";
}

}  // namespace

std::optional<std::string> find_incompatibility(const detail::object_layout* layout, bool has_entry) {
    if (!has_entry) {
        return std::string{" registers no procedures: it lacks "} + entry_symbol +
               ", which TUTTI_PROCEDURES of <tutti/server/procedure.hpp> defines";
    }
    if (layout == nullptr) {
        return std::string{" does not say how it was compiled: it lacks "} + layout_symbol +
               "; recompile it with the headers of this server";
    }
    if (*layout == of_server) return std::nullopt;
    return " was compiled " + difference(*layout) + "; recompile it like this server";
}

std::optional<std::string> find_incompatibility(const std::string& path) {
    const mapped_file file{path};
    const object_file object{file};
    if (!object.is_known()) return std::nullopt;
    std::uint64_t entry = 0, address = 0;
    detail::object_layout layout{};
    const bool has_layout = object.find(layout_symbol, address) && object.read_at(address, layout);
    return find_incompatibility(has_layout ? &layout : nullptr, object.find(entry_symbol, entry));
}

}  // namespace tutti::server
