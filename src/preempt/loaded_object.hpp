// What the dynamic linker has loaded: where an object's code is, what it needs, and what it imports.
//
// Of ELF for x86-64. A view is valid as long as its object stays loaded.
#pragma once

#include <link.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::preempt {

class loaded_object {
public:
    /// All of the process, the program first. Throws std::bad_alloc.
    [[nodiscard]] static std::vector<loaded_object> all();

    struct range {
        std::uintptr_t begin = 0, end = 0;
        [[nodiscard]] bool contains(std::uintptr_t address) const noexcept { return address - begin < end - begin; }
    };
    /// A word that the dynamic linker has filled in with an address.
    struct import {
        std::string_view name;
        std::uintptr_t* slot;
        bool call;   // only calls read it: by way of the procedure linkage table
        bool local;  // the object defines it itself
    };

    [[nodiscard]] bool contains(std::uintptr_t address) const noexcept;
    [[nodiscard]] std::vector<range> code() const;
    /// By which others need it; without a name of its own, that of its file.
    [[nodiscard]] std::string_view name() const noexcept;
    /// The names of what it needs itself.
    [[nodiscard]] std::vector<std::string_view> needed() const;
    [[nodiscard]] std::vector<import> imports() const;
    /// What may not be written to since the object was loaded (RELRO), in whole pages.
    [[nodiscard]] range read_only_after_relocation() const noexcept;

private:
    explicit loaded_object(const dl_phdr_info& from);
    [[nodiscard]] std::uintptr_t address_of(std::uintptr_t pointer) const noexcept;
    [[nodiscard]] std::uintptr_t value_of(std::int64_t tag) const noexcept;  // 0: there is none
    void add_imports(std::int64_t table, std::int64_t bytes, std::vector<import>& to) const;

    std::string file_;
    std::uintptr_t base_;
    const ElfW(Phdr) * headers_;
    std::size_t count_;
    const ElfW(Dyn) * dynamic_ = nullptr;
};

}  // namespace tutti::preempt
