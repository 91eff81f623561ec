#include "server/journal/checked_pages.hpp"

#include <sqlite3.h>

#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "server/journal/checksum.hpp"
#include "server/journal/wrapped_file.hpp"

namespace tutti::server::journal {
namespace {

constexpr int reserved = sizeof(std::uint64_t);
constexpr int reserved_at = 20;           // header field: number of bytes at a page's end that SQLite does not use
constexpr int min_page_bytes = 512;       // SQLite's smallest page
constexpr int ask_for_file = 0x54755474;  // operation code of sqlite3_file_control

sqlite3_vfs* real = nullptr;

struct file {
    sqlite3_file base;
    bool is_database, has_checksums, is_damaged;
    std::uint64_t damaged_at;
    bool knows_sum;     // of a database, once the sum has been computed
    std::uint64_t sum;  // sum_of_pages
    bool is_own_log;
    std::uint64_t salts;  // of SQLite's WAL: the salts in its header
};

using front = wrapped_file<file>;

file& of(sqlite3_file* f) { return front::of(f); }

bool is_page(const file& f, int amount, sqlite3_int64 at) {
    return f.is_database && f.has_checksums && amount >= min_page_bytes && at % amount == 0;
}

std::uint64_t checksum_of(const char* page, int amount, sqlite3_int64 at) {
    const std::uint64_t of_bytes = checksum({page, static_cast<std::size_t>(amount - reserved)});
    const auto number = static_cast<std::uint64_t>(at / amount) + 1;
    return of_bytes ^ (number * 0x9e3779b97f4a7c15);  // so a page at a wrong place has a wrong checksum
}

/// Reads from the first page of a database whether the database's pages have room for checksums.
void record_first_page(file& f, const char* bytes, int amount, sqlite3_int64 at) {
    if (f.is_database && at == 0 && amount > reserved_at) f.has_checksums = bytes[reserved_at] == reserved;
}

/// Returns the checksum that is stored at the end of a page, or 0 if the file ends before the checksum.
std::uint64_t stored_checksum(sqlite3_file* f, int amount, sqlite3_int64 at) {
    std::uint64_t kept = 0;
    const sqlite3_int64 where = at + amount - reserved;
    // SQLite fills the rest of a short read with zeros.
    const int result = front::forward<&sqlite3_io_methods::xRead>(f, static_cast<void*>(&kept), reserved, where);
    return result == SQLITE_OK ? kept : 0;
}

/// Records the salts in the header of SQLite's WAL, which identify the generation of the WAL.
void record_salts(file& f, const void* bytes, int amount, sqlite3_int64 at) {
    constexpr int salts_at = 16;
    if (f.is_own_log && at == 0 && amount >= salts_at + static_cast<int>(sizeof f.salts))
        std::memcpy(&f.salts, static_cast<const char*>(bytes) + salts_at, sizeof f.salts);
}

int read(sqlite3_file* f, void* bytes, int amount, sqlite3_int64 at) {
    const int result = front::forward<&sqlite3_io_methods::xRead>(f, bytes, amount, at);
    if (result != SQLITE_OK) return result;
    const auto* const page = static_cast<const char*>(bytes);
    record_salts(of(f), bytes, amount, at);
    record_first_page(of(f), page, amount, at);
    if (!is_page(of(f), amount, at)) return SQLITE_OK;
    std::uint64_t kept;
    std::memcpy(&kept, page + amount - reserved, reserved);
    if (kept == checksum_of(page, amount, at)) return SQLITE_OK;
    of(f).is_damaged = true;
    of(f).damaged_at = static_cast<std::uint64_t>(at);
    return SQLITE_IOERR_DATA;
}

int write(sqlite3_file* f, const void* bytes, int amount, sqlite3_int64 at) {
    record_salts(of(f), bytes, amount, at);
    record_first_page(of(f), static_cast<const char*>(bytes), amount, at);
    if (!is_page(of(f), amount, at)) {
        if (of(f).is_database) of(f).knows_sum = false;
        return front::forward<&sqlite3_io_methods::xWrite>(f, bytes, amount, at);
    }
    const std::unique_ptr<char[]> page{new (std::nothrow) char[static_cast<std::size_t>(amount)]};
    if (page == nullptr) return SQLITE_IOERR_NOMEM;
    const std::uint64_t sum = checksum_of(static_cast<const char*>(bytes), amount, at);
    std::memcpy(page.get(), bytes, static_cast<std::size_t>(amount - reserved));
    std::memcpy(page.get() + amount - reserved, &sum, reserved);
    if (of(f).knows_sum) of(f).sum ^= stored_checksum(f, amount, at) ^ sum;
    const int result = front::forward<&sqlite3_io_methods::xWrite>(f, static_cast<const void*>(page.get()), amount, at);
    if (result != SQLITE_OK) of(f).knows_sum = false;
    return result;
}

int truncate(sqlite3_file* f, sqlite3_int64 bytes) {
    sqlite3_int64 now = 0;
    const bool stays = front::forward<&sqlite3_io_methods::xFileSize>(f, &now) == SQLITE_OK && now == bytes;
    if (!stays) of(f).knows_sum = false;
    return front::forward<&sqlite3_io_methods::xTruncate>(f, bytes);
}

int control(sqlite3_file* f, int what, void* with) {
    if (what != ask_for_file) return front::forward<&sqlite3_io_methods::xFileControl>(f, what, with);
    *static_cast<file**>(with) = &of(f);
    return SQLITE_OK;
}

const sqlite3_io_methods methods = [] {
    sqlite3_io_methods m = front::methods();
    m.xRead = read;
    m.xWrite = write;
    m.xTruncate = truncate;
    m.xFileControl = control;
    return m;
}();

int open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
    const int result = front::open(*real, name, f, flags, out, methods);
    of(f).is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    of(f).is_own_log = (flags & SQLITE_OPEN_WAL) != 0;
    return result;
}

file* file_of(sqlite3* db) noexcept {
    file* f = nullptr;
    return sqlite3_file_control(db, "main", ask_for_file, static_cast<void*>(&f)) == SQLITE_OK ? f : nullptr;
}

/// Calls `each` for the pages in the file, without the changes in SQLite's WAL. Returns false if `each` has returned
/// false, or if the file cannot be read.
template <class F>
bool each_page(sqlite3_file* f, const F& each) {
    unsigned char head[reserved_at];
    if (front::forward<&sqlite3_io_methods::xRead>(f, static_cast<void*>(head), reserved_at, sqlite3_int64{0}) !=
        SQLITE_OK)
        return false;
    int page = head[16] << 8 | head[17];  // in SQLite's format, 1 means 65536
    if (page == 1) page = 65536;
    sqlite3_int64 bytes = 0;
    if (page < min_page_bytes || front::forward<&sqlite3_io_methods::xFileSize>(f, &bytes) != SQLITE_OK) return false;
    for (sqlite3_int64 at = 0; at + page <= bytes; at += page) {
        if (!each(page, at)) return false;
    }
    return true;
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

std::uint64_t sum_of_pages(sqlite3* db) noexcept {
    file* const f = file_of(db);
    if (f == nullptr || !f->has_checksums) return 0;
    if (!f->knows_sum) {
        f->sum = 0;
        f->knows_sum = each_page(&f->base, [f](int page, sqlite3_int64 at) {
            f->sum ^= stored_checksum(&f->base, page, at);
            return true;
        });
        if (!f->knows_sum) return 0;
    }
    return f->sum == 0 ? 1 : f->sum;
}

bool all_pages_are_intact(sqlite3* db) {
    file* const f = file_of(db);
    if (f == nullptr) return false;
    std::vector<char> page;
    return each_page(&f->base, [&](int amount, sqlite3_int64 at) {
        page.resize(static_cast<std::size_t>(amount));
        return front::forward<&sqlite3_io_methods::xRead>(&f->base, static_cast<void*>(page.data()), amount, at) ==
                   SQLITE_OK &&
               checksum_of(page.data(), amount, at) == stored_checksum(&f->base, amount, at);
    });
}

std::uint64_t wal_salts(sqlite3* db) noexcept {
    sqlite3_file* log = nullptr;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&log)) != SQLITE_OK) return 0;
    return log != nullptr && log->pMethods == &methods && of(log).is_own_log ? of(log).salts : 0;
}

}  // namespace tutti::server::journal
