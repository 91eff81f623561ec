// Implements dynamic_cast in a block: the clone of the C++ ABI's __dynamic_cast.
//
// libstdc++'s function reads the virtual table pointers of the object without barriers. These pointers change only
// while the object is constructed or destroyed. But a block that destroys the object writes the pointers in place, and
// may be rolled back later. So the clone reads the pointers of the subobject and of the whole object through barriers,
// before and after the cast.
//
// A destructor of the whole object sets its own tables before the destructor of any base runs. If neither pointer has
// changed at the second read, no base was being destroyed, so libstdc++'s function has read the tables of a living
// object. If a pointer has changed, so has its ownership record, and the second read restarts the block.
#include <cstddef>
#include <cstdint>

#include "libc/memory.hpp"

// The function is declared under another name, because GCC evaluates calls of the real name, and assumes that the hint
// is a constant.
extern "C" void* tutti_plain_dynamic_cast(const void* object, const void* from, const void* to,
                                          std::ptrdiff_t hint) __asm__("__dynamic_cast");

namespace {

using tutti::tx;

using table = const void* const*;

table table_of(tx& t, const void* object) { return tutti::libc::load_pointer(t, static_cast<const table*>(object)); }

/// The C++ ABI stores the distance to the whole object in front of the pointer to the type information.
const void* whole_of(const void* object, table of_object) noexcept {
    const auto distance = reinterpret_cast<std::ptrdiff_t>(of_object[-2]);
    return static_cast<const char*>(object) + distance;
}

void* cast(tx& t, const void* object, const void* from, const void* to, std::ptrdiff_t hint) {
    const table before = table_of(t, object);
    const void* const whole = whole_of(object, before);
    static_cast<void>(table_of(t, whole));
    void* const result = tutti_plain_dynamic_cast(object, from, to, hint);
    static_cast<void>(table_of(t, whole));
    static_cast<void>(table_of(t, object));
    return result;
}

}  // namespace

extern "C" TUTTI_EXPORT void* tutti_clone_of_dynamic_cast(const void* object, const void* from, const void* to,
                                                                std::ptrdiff_t hint) __asm__("_ZGTt14__dynamic_cast");
void* tutti_clone_of_dynamic_cast(const void* object, const void* from, const void* to, std::ptrdiff_t hint) {
    tx* const t = tutti::libc::transaction_of_call({});
    return t != nullptr ? cast(*t, object, from, to, hint) : tutti_plain_dynamic_cast(object, from, to, hint);
}
