// SQLite files that wrap the real ones. A wrapping file forwards every call, except for the methods that its file
// system replaces.
#pragma once

#include <sqlite3.h>

#include <cstring>

namespace tutti::server::journal {

/// Wraps the real file in a `File`, which is the file that SQLite sees. `File` begins with `sqlite3_file base` and
/// contains no pointers to itself. In memory, the real file follows the `File`.
template <class File>
struct wrapped_file {
    static File& of(sqlite3_file* f) { return *reinterpret_cast<File*>(f); }
    static sqlite3_file* real_file(sqlite3_file* f) { return reinterpret_cast<sqlite3_file*>(&of(f) + 1); }

    template <auto Method, class... A>
    static int forward(sqlite3_file* f, A... arguments) {
        return (real_file(f)->pMethods->*Method)(real_file(f), arguments...);
    }

    /// Returns methods that all forward to the real file. They are version 1 of SQLite's methods, without shared memory
    /// and memory maps, because a log that one process uses exclusively does not need shared memory.
    static sqlite3_io_methods methods() {
        using io = sqlite3_io_methods;
        io m{};
        m.iVersion = 1;
        m.xClose = forward<&io::xClose>;
        m.xRead = forward<&io::xRead, void*, int, sqlite3_int64>;
        m.xWrite = forward<&io::xWrite, const void*, int, sqlite3_int64>;
        m.xTruncate = forward<&io::xTruncate, sqlite3_int64>;
        m.xSync = forward<&io::xSync, int>;
        m.xFileSize = forward<&io::xFileSize, sqlite3_int64*>;
        m.xLock = forward<&io::xLock, int>;
        m.xUnlock = forward<&io::xUnlock, int>;
        m.xCheckReservedLock = forward<&io::xCheckReservedLock, int*>;
        m.xFileControl = forward<&io::xFileControl, int, void*>;
        m.xSectorSize = forward<&io::xSectorSize>;
        m.xDeviceCharacteristics = forward<&io::xDeviceCharacteristics>;
        return m;
    }

    /// Opens the real file. If SQLite has set the methods of the real file, sets the methods of `f` to `methods`.
    static int open(sqlite3_vfs& real, const char* name, sqlite3_file* f, int flags, int* out,
                    const sqlite3_io_methods& methods) {
        std::memset(f, 0, sizeof(File));
        const int result = real.xOpen(&real, name, real_file(f), flags, out);
        if (real_file(f)->pMethods != nullptr) f->pMethods = &methods;
        return result;
    }

    /// Returns a file system that wraps `real` and opens its files with `open`.
    static sqlite3_vfs file_system(const sqlite3_vfs& real, const char* name, decltype(sqlite3_vfs::xOpen) open) {
        sqlite3_vfs v = real;
        v.zName = name;
        v.szOsFile = static_cast<int>(sizeof(File)) + real.szOsFile;
        v.xOpen = open;
        return v;
    }
};

}  // namespace tutti::server::journal
