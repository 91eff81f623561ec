#include "server/durability/faulty_disk.hpp"

#include <sqlite3.h>

#include "server/journal/wrapped_file.hpp"

namespace tutti::server {
namespace {

sqlite3_vfs* real = nullptr;

struct file {
    sqlite3_file base;
    bool is_database;
};

using front = journal::wrapped_file<file>;

file& of(sqlite3_file* f) { return front::of(f); }

int write(sqlite3_file* f, const void* bytes, int amount, sqlite3_int64 at) {
    int left = faulty_disk::writes_until_full.load();
    while (left > 0 && !faulty_disk::writes_until_full.compare_exchange_weak(left, left - 1)) {}
    if (left == 0 || faulty_disk::is_full || (faulty_disk::is_untidy && of(f).is_database)) {
        ++faulty_disk::refused;
        // Writes half of the bytes, as a full disk does.
        front::forward<&sqlite3_io_methods::xWrite>(f, bytes, amount / 2, at);
        return SQLITE_FULL;
    }
    return front::forward<&sqlite3_io_methods::xWrite>(f, bytes, amount, at);
}

int read(sqlite3_file* f, void* bytes, int amount, sqlite3_int64 at) {
    ++faulty_disk::reads;
    return front::forward<&sqlite3_io_methods::xRead>(f, bytes, amount, at);
}

int sync(sqlite3_file* f, int flags) {
    if (faulty_disk::holds_sync) {
        ++faulty_disk::held;
        faulty_disk::held.notify_all();
        faulty_disk::holds_sync.wait(true);
    }
    if (faulty_disk::loses) return SQLITE_IOERR_FSYNC;
    const int result = front::forward<&sqlite3_io_methods::xSync>(f, flags);
    ++faulty_disk::syncs;
    return result;
}

const sqlite3_io_methods methods = [] {
    sqlite3_io_methods m = front::methods();
    m.xRead = read;
    m.xWrite = write;
    m.xSync = sync;
    return m;
}();

int open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
    const int result = front::open(*real, name, f, flags, out, methods);
    of(f).is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    return result;
}

}  // namespace

void faulty_disk::repair() {
    is_full = is_untidy = loses = holds_sync = false;
    holds_sync.notify_all();
    writes_until_full = -1;
    syncs = held = refused = 0;
}

void faulty_disk::install() {
    static sqlite3_vfs ours;
    if (real != nullptr) return;
    real = sqlite3_vfs_find(nullptr);
    ours = front::file_system(*real, "faulty", open);
    sqlite3_vfs_register(&ours, 1);
}

}  // namespace tutti::server
