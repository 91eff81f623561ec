#include "server/durability/faulty_disk.hpp"

#include <sqlite3.h>

#include <cstring>
#include <new>

namespace tutti::server {
namespace {

sqlite3_vfs* real = nullptr;

/// What SQLite sees as a file; the real one lies behind it.
struct file {
    sqlite3_file base;
    bool is_database;
    sqlite3_file* behind() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

file& of(sqlite3_file* f) { return *reinterpret_cast<file*>(f); }

template <auto Method, class... A>
int pass(sqlite3_file* f, A... arguments) {
    sqlite3_file* const behind = of(f).behind();
    return (behind->pMethods->*Method)(behind, arguments...);
}

int write(sqlite3_file* f, const void* bytes, int amount, sqlite3_int64 at) {
    int left = faulty_disk::writes_until_full.load();
    while (left > 0 && !faulty_disk::writes_until_full.compare_exchange_weak(left, left - 1)) {}
    if (left == 0 || faulty_disk::is_full || (faulty_disk::is_untidy && of(f).is_database)) {
        ++faulty_disk::refused;
        // Half of it, as a disk does that runs full.
        pass<&sqlite3_io_methods::xWrite>(f, bytes, amount / 2, at);
        return SQLITE_FULL;
    }
    return pass<&sqlite3_io_methods::xWrite>(f, bytes, amount, at);
}

int read(sqlite3_file* f, void* bytes, int amount, sqlite3_int64 at) {
    ++faulty_disk::reads;
    return pass<&sqlite3_io_methods::xRead>(f, bytes, amount, at);
}

int sync(sqlite3_file* f, int flags) {
    if (faulty_disk::holds_sync) {
        ++faulty_disk::held;
        faulty_disk::held.notify_all();
        faulty_disk::holds_sync.wait(true);
    }
    if (faulty_disk::loses) return SQLITE_IOERR_FSYNC;
    const int result = pass<&sqlite3_io_methods::xSync>(f, flags);
    ++faulty_disk::syncs;
    return result;
}

using io = sqlite3_io_methods;
const sqlite3_io_methods methods = {1,
                                    pass<&io::xClose>,
                                    read,
                                    write,
                                    pass<&io::xTruncate, sqlite3_int64>,
                                    sync,
                                    pass<&io::xFileSize, sqlite3_int64*>,
                                    pass<&io::xLock, int>,
                                    pass<&io::xUnlock, int>,
                                    pass<&io::xCheckReservedLock, int*>,
                                    pass<&io::xFileControl, int, void*>,
                                    pass<&io::xSectorSize>,
                                    pass<&io::xDeviceCharacteristics>,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    nullptr};

int open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
    std::memset(f, 0, sizeof(file));
    of(f).is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    const int result = real->xOpen(real, name, of(f).behind(), flags, out);
    if (of(f).behind()->pMethods != nullptr) f->pMethods = &methods;
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
    ours = *real;
    ours.zName = "faulty";
    ours.szOsFile = static_cast<int>(sizeof(file)) + real->szOsFile;
    ours.xOpen = open;
    sqlite3_vfs_register(&ours, 1);
}

}  // namespace tutti::server
