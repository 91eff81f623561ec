#include "preempt/loaded_object.hpp"

#include <unistd.h>

#include <algorithm>

namespace tutti::preempt {
namespace {

int note(dl_phdr_info* object, std::size_t, void* of) {
    // The search runs under a lock of the dynamic linker. Allocating in the search is safe, because no allocation
    // acquires that lock.
    static_cast<std::vector<dl_phdr_info>*>(of)->push_back(*object);
    return 0;
}

}  // namespace

std::vector<loaded_object> loaded_object::all() {
    std::vector<dl_phdr_info> found;
    ::dl_iterate_phdr(note, &found);
    std::vector<loaded_object> objects;
    objects.reserve(found.size());
    for (const dl_phdr_info& o : found) objects.push_back(loaded_object{o});
    return objects;
}

loaded_object::loaded_object(const dl_phdr_info& from)
    : file_{from.dlpi_name == nullptr ? "" : from.dlpi_name},
      base_{from.dlpi_addr},
      headers_{from.dlpi_phdr},
      count_{from.dlpi_phnum} {
    for (std::size_t i = 0; i < count_; ++i) {
        if (headers_[i].p_type == PT_DYNAMIC)
            dynamic_ = reinterpret_cast<const ElfW(Dyn)*>(base_ + headers_[i].p_vaddr);
    }
}

bool loaded_object::contains(std::uintptr_t address) const noexcept {
    return std::any_of(headers_, headers_ + count_, [&](const ElfW(Phdr) & h) {
        return h.p_type == PT_LOAD && address - base_ - h.p_vaddr < h.p_memsz;
    });
}

std::vector<loaded_object::range> loaded_object::code() const {
    std::vector<range> code;
    for (std::size_t i = 0; i < count_; ++i) {
        const auto& h = headers_[i];
        if (h.p_type != PT_LOAD || (h.p_flags & PF_X) == 0) continue;
        code.push_back({base_ + h.p_vaddr, base_ + h.p_vaddr + h.p_memsz});
    }
    return code;
}

/// The dynamic linker adds the base to most pointers of the dynamic section, but not to pointers of the object that the
/// kernel provides (linux-vdso).
std::uintptr_t loaded_object::address_of(std::uintptr_t pointer) const noexcept {
    return pointer < base_ ? base_ + pointer : pointer;
}

std::uintptr_t loaded_object::value_of(std::int64_t tag) const noexcept {
    if (dynamic_ == nullptr) return 0;
    for (const auto* d = dynamic_; d->d_tag != DT_NULL; ++d) {
        if (d->d_tag == tag) return d->d_un.d_val;
    }
    return 0;
}

std::string_view loaded_object::name() const noexcept {
    const std::uintptr_t strings = value_of(DT_STRTAB), own = value_of(DT_SONAME);
    if (strings != 0 && own != 0) return reinterpret_cast<const char*>(address_of(strings) + own);
    return std::string_view{file_}.substr(file_.rfind('/') + 1);
}

std::vector<std::string_view> loaded_object::needed() const {
    std::vector<std::string_view> names;
    const std::uintptr_t strings = value_of(DT_STRTAB);
    if (strings == 0) return names;
    for (const auto* d = dynamic_; d->d_tag != DT_NULL; ++d) {
        if (d->d_tag != DT_NEEDED) continue;
        names.emplace_back(reinterpret_cast<const char*>(address_of(strings) + d->d_un.d_val));
    }
    return names;
}

std::vector<loaded_object::import> loaded_object::imports() const {
    std::vector<import> all;
    add_imports(DT_JMPREL, DT_PLTRELSZ, all);
    add_imports(DT_RELA, DT_RELASZ, all);
    return all;
}

void loaded_object::add_imports(std::int64_t table, std::int64_t bytes, std::vector<import>& to) const {
    const std::uintptr_t strings = value_of(DT_STRTAB), symbols = value_of(DT_SYMTAB), first = value_of(table);
    if (strings == 0 || symbols == 0 || first == 0) return;
    const auto* const relocations = reinterpret_cast<const ElfW(Rela)*>(address_of(first));
    const std::size_t count = value_of(bytes) / sizeof *relocations;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& r = relocations[i];
        const std::size_t number = ELF64_R_SYM(r.r_info);
        if (number == 0) continue;
        const auto& symbol = reinterpret_cast<const ElfW(Sym)*>(address_of(symbols))[number];
        to.push_back({reinterpret_cast<const char*>(address_of(strings) + symbol.st_name),
                      reinterpret_cast<std::uintptr_t*>(base_ + r.r_offset),
                      ELF64_R_TYPE(r.r_info) == R_X86_64_JUMP_SLOT, symbol.st_shndx != SHN_UNDEF});
    }
}

loaded_object::range loaded_object::read_only_after_relocation() const noexcept {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (std::size_t i = 0; i < count_; ++i) {
        const auto& h = headers_[i];
        if (h.p_type != PT_GNU_RELRO) continue;
        // The end is rounded as the dynamic linker does: a page of which only a part is read-only stays writable.
        return {(base_ + h.p_vaddr) / page * page, (base_ + h.p_vaddr + h.p_memsz) / page * page};
    }
    return {};
}

}  // namespace tutti::preempt
