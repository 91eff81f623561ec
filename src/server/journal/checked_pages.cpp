#include "server/journal/checked_pages.hpp"

#include <sqlite3.h>

#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "server/journal/checksum.hpp"
#include "server/journal/file_in_front.hpp"

namespace tutti::server::journal {
namespace {

constexpr int reserved = sizeof(std::uint64_t);
constexpr int reserved_at = 20;           // of the database: bytes at the end of a page that SQLite leaves alone
constexpr int least_page = 512;           // what is shorter is no page
constexpr int ask_for_file = 0x54755474;  // of sqlite3_file_control

sqlite3_vfs* real = nullptr;

struct file {
    sqlite3_file base;
    bool is_database, has_checksums, is_damaged;
    std::uint64_t damaged_at;
};

using front = file_in_front<file>;

file& of(sqlite3_file* f) { return front::of(f); }

bool is_page(const file& f, int amount, sqlite3_int64 at) {
    return f.is_database && f.has_checksums && amount >= least_page && at % amount == 0;
}

std::uint64_t checksum_of(const char* page, int amount, sqlite3_int64 at) {
    const std::uint64_t of_bytes = checksum({page, static_cast<std::size_t>(amount - reserved)});
    const auto number = static_cast<std::uint64_t>(at / amount) + 1;
    return of_bytes ^ (number * 0x9e3779b97f4a7c15);  // a page that stands in the place of another is damage, too
}

/// Learns from the first page of a database whether it was made with room for checksums.
void note_first_page(file& f, const char* bytes, int amount, sqlite3_int64 at) {
    if (f.is_database && at == 0 && amount > reserved_at) f.has_checksums = bytes[reserved_at] == reserved;
}

int read(sqlite3_file* f, void* bytes, int amount, sqlite3_int64 at) {
    const int result = front::pass<&sqlite3_io_methods::xRead>(f, bytes, amount, at);
    if (result != SQLITE_OK) return result;
    const auto* const page = static_cast<const char*>(bytes);
    note_first_page(of(f), page, amount, at);
    if (!is_page(of(f), amount, at)) return SQLITE_OK;
    std::uint64_t kept;
    std::memcpy(&kept, page + amount - reserved, reserved);
    if (kept == checksum_of(page, amount, at)) return SQLITE_OK;
    of(f).is_damaged = true;
    of(f).damaged_at = static_cast<std::uint64_t>(at);
    return SQLITE_IOERR_DATA;
}

int write(sqlite3_file* f, const void* bytes, int amount, sqlite3_int64 at) {
    note_first_page(of(f), static_cast<const char*>(bytes), amount, at);
    if (!is_page(of(f), amount, at)) return front::pass<&sqlite3_io_methods::xWrite>(f, bytes, amount, at);
    const std::unique_ptr<char[]> page{new (std::nothrow) char[static_cast<std::size_t>(amount)]};
    if (page == nullptr) return SQLITE_IOERR_NOMEM;
    const std::uint64_t sum = checksum_of(static_cast<const char*>(bytes), amount, at);
    std::memcpy(page.get(), bytes, static_cast<std::size_t>(amount - reserved));
    std::memcpy(page.get() + amount - reserved, &sum, reserved);
    return front::pass<&sqlite3_io_methods::xWrite>(f, static_cast<const void*>(page.get()), amount, at);
}

int control(sqlite3_file* f, int what, void* with) {
    if (what != ask_for_file) return front::pass<&sqlite3_io_methods::xFileControl>(f, what, with);
    *static_cast<file**>(with) = &of(f);
    return SQLITE_OK;
}

const sqlite3_io_methods methods = [] {
    sqlite3_io_methods m = front::methods();
    m.xRead = read;
    m.xWrite = write;
    m.xFileControl = control;
    return m;
}();

int open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
    const int result = front::open(*real, name, f, flags, out, methods);
    of(f).is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    return result;
}

file* file_of(sqlite3* db) noexcept {
    file* f = nullptr;
    return sqlite3_file_control(db, "main", ask_for_file, static_cast<void*>(&f)) == SQLITE_OK ? f : nullptr;
}

}  // namespace

const char* checked_pages() noexcept {
    static sqlite3_vfs ours = [] {
        real = sqlite3_vfs_find(nullptr);
        return front::file_system(*real, "tutti-checked-pages", open);
    }();
    static const bool registered = sqlite3_vfs_register(&ours, 0) == SQLITE_OK;
    return registered ? ours.zName : nullptr;
}

void reserve_checksums(sqlite3* db) noexcept {
    int bytes = reserved;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

bool has_checksums(sqlite3* db) noexcept {
    const file* const f = file_of(db);
    return f != nullptr && f->has_checksums;
}

std::optional<std::uint64_t> damaged_page(sqlite3* db) noexcept {
    const file* const f = file_of(db);
    if (f == nullptr || !f->is_damaged) return std::nullopt;
    return f->damaged_at;
}

}  // namespace tutti::server::journal
