// The position in a file, and the state of a stream. A seek runs immediately, so that its result is known, and a
// roll-back undoes it by another seek (paper 004, figure 3). Output of the block that is not written yet is deferred to
// the commit (file_overlay.hpp).
#include "libc/file.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

int fseeko(tx& t, FILE* f, off_t offset, int whence) {
    file of{t, f};
    if (of.is_owned() && !of.has_buffered(offset, whence)) of.before_moving();
    return of.is_detached() ? of.seek(offset, whence) : ::fseeko(f, offset, whence);
}
int fseek(tx& t, FILE* f, long offset, int whence) { return libc::fseeko(t, f, offset, whence); }

void rewind(tx& t, FILE* f) {
    file of{t, f};
    if (of.is_owned()) of.before_moving();
    if (!of.is_detached()) return ::rewind(f);
    static_cast<void>(of.seek(0, SEEK_SET));
    ::clearerr_unlocked(f);
}

off_t ftello(tx& t, FILE* f) {
    file of{t, f};
    // glibc seeks to the end of the file, because appended output goes there.
    if (of.is_owned() && of.pending() != 0 && of.appends() && !of.is_detached()) of.before_moving();
    return of.is_detached() ? of.position() : ::ftello(f);
}
long ftell(tx& t, FILE* f) { return libc::ftello(t, f); }

int fgetpos(tx& t, FILE* f, fpos_t* to) {
    file of{t, f};
    if (of.is_owned() && of.pending() != 0 && of.appends() && !of.is_detached()) of.before_moving();
    fpos_t position{};
    if (of.is_detached()) position.__pos = of.position();
    const int result = of.is_detached() ? 0 : ::fgetpos(f, &position);
    if (result == 0) write(t, to, position);
    return result;
}
int fsetpos(tx& t, FILE* f, const fpos_t* from) {
    const fpos_t position = read(t, from);
    file of{t, f};
    if (of.is_owned()) of.before_moving();
    return of.is_detached() ? of.seek(position.__pos, SEEK_SET) : ::fsetpos(f, &position);
}

int feof(tx& t, FILE* f) {
    const file of{t, f};
    return of.is_owned() ? ::feof_unlocked(f) : ::feof(f);
}
int ferror(tx& t, FILE* f) {
    const file of{t, f};
    return of.is_owned() ? ::ferror_unlocked(f) : ::ferror(f);
}
void clearerr(tx& t, FILE* f) {
    const file of{t, f};
    of.is_owned() ? ::clearerr_unlocked(f) : ::clearerr(f);
}
int fileno(tx& t, FILE* f) {
    const file of{t, f};
    return of.is_owned() ? ::fileno_unlocked(f) : ::fileno(f);
}

}  // namespace tutti::libc
