// The stdio functions that do not lock the stream. In a transaction, each of them does the same as the function that
// locks the stream, because the transaction owns the stream.
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

int fputc_unlocked(tx& t, int c, FILE* f) { return libc::fputc(t, c, f); }
int putc_unlocked(tx& t, int c, FILE* f) { return libc::fputc(t, c, f); }
int putchar_unlocked(tx& t, int c) { return libc::putchar(t, c); }
int fputs_unlocked(tx& t, const char* s, FILE* f) { return libc::fputs(t, s, f); }
std::size_t fwrite_unlocked(tx& t, const void* from, std::size_t size, std::size_t count, FILE* f) {
    return libc::fwrite(t, from, size, count, f);
}
int fflush_unlocked(tx& t, FILE* f) { return libc::fflush(t, f); }
int fgetc_unlocked(tx& t, FILE* f) { return libc::fgetc(t, f); }
int getc_unlocked(tx& t, FILE* f) { return libc::fgetc(t, f); }
int getchar_unlocked(tx& t) { return libc::getchar(t); }
char* fgets_unlocked(tx& t, char* to, int size, FILE* f) { return libc::fgets(t, to, size, f); }
std::size_t fread_unlocked(tx& t, void* to, std::size_t size, std::size_t count, FILE* f) {
    return libc::fread(t, to, size, count, f);
}
int feof_unlocked(tx& t, FILE* f) { return libc::feof(t, f); }
int ferror_unlocked(tx& t, FILE* f) { return libc::ferror(t, f); }
void clearerr_unlocked(tx& t, FILE* f) { libc::clearerr(t, f); }
int fileno_unlocked(tx& t, FILE* f) { return libc::fileno(t, f); }

}  // namespace tutti::libc
