// An object that the dynamic linker has loaded: its code, its dependencies, and its imports.
//
// Supports ELF for x86-64. A loaded_object is a view that is valid as long as its object stays loaded.
#pragma once

#include <link.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::preempt {

class loaded_object {
public:
    /// Returns all objects of the process, the program first. Throws std::bad_alloc.
    [[nodiscard]] static std::vector<loaded_object> all();

    struct range {
        std::uintptr_t begin = 0, end = 0;
        [[nodiscard]] bool contains(std::uintptr_t address) const noexcept { return address - begin < end - begin; }
    };
    /// A word that the dynamic linker has filled with an address.
    struct import {
        std::string_view name;
        std::uintptr_t* slot;
        bool call;   // only calls read the word, through the procedure linkage table
        bool local;  // the object itself defines the symbol
    };

    [[nodiscard]] bool contains(std::uintptr_t address) const noexcept;
    [[nodiscard]] std::vector<range> code() const;
    /// Returns the name by which other objects refer to this object, or the name of its file if there is no such name.
    [[nodiscard]] std::string_view name() const noexcept;
    /// Returns the names of the objects on which this object depends.
    [[nodiscard]] std::vector<std::string_view> needed() const;
    [[nodiscard]] std::vector<import> imports() const;
    /// Returns the range that has been read-only since the object was loaded (RELRO), in whole pages.
    [[nodiscard]] range read_only_after_relocation() const noexcept;

private:
    explicit loaded_object(const dl_phdr_info& from);
    [[nodiscard]] std::uintptr_t address_of(std::uintptr_t pointer) const noexcept;
    [[nodiscard]] std::uintptr_t value_of(std::int64_t tag) const noexcept;  // 0: the tag is missing
    void add_imports(std::int64_t table, std::int64_t bytes, std::vector<import>& to) const;

    std::string file_;
    std::uintptr_t base_;
    const ElfW(Phdr) * headers_;
    std::size_t count_;
    const ElfW(Dyn) * dynamic_ = nullptr;
};

}  // namespace tutti::preempt
