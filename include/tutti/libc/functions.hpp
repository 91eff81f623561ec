/// @file
/// The C library inside transactions. Each function has a form that takes the transaction and is rolled back with it.
///
/// Blocks of the language do not need this header: `tutti-cc` and `tutti-c++` compile their ordinary calls to the same
/// bodies. Link `tutti::libc` (`-ltutti-c`). Results, errno and failures are those of glibc. The comments below
/// describe only the behaviour in a transaction. Every function may restart the block, and may throw std::bad_alloc if
/// memory for the logs runs out. The functions read and write memory behind their pointer arguments transactionally.
///
/// The design follows V. Smiljković et al., "TM-dietlibc: A TM-aware Real-world System Library" (IPDPS 2013). A call
/// without a system call runs transactionally. A call that can be undone is undone by compensation. Any other call
/// makes the transaction irrevocable, as late as possible.
#pragma once

#include <clocale>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <cwchar>
#include <cwctype>

#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <uchar.h>

#include "tutti/tx.hpp"

struct drand48_data;
struct rlimit;
struct rusage;
struct timeval;
struct tms;
struct utsname;

namespace tutti::libc {

/// @name Output to streams
/// A roll-back undoes output that went to the stream's buffer. If the buffer lacks room, the function first writes the
/// output of earlier transactions. The transaction becomes irrevocable first if this output still leaves too little
/// room, if the stream is unbuffered, or if a line ends in a line-buffered stream. One transaction at a time owns a
/// stream, from its first call to its end. Threads outside of transactions wait for the owner in glibc's own lock. A
/// block of the language that runs alone owns no stream.
/// @{
TUTTI_EXPORT int fputc(tx& t, int c, FILE* f);
TUTTI_EXPORT int putc(tx& t, int c, FILE* f);
TUTTI_EXPORT int putchar(tx& t, int c);
TUTTI_EXPORT int fputs(tx& t, const char* s, FILE* f);
TUTTI_EXPORT int puts(tx& t, const char* s);
TUTTI_EXPORT std::size_t fwrite(tx& t, const void* from, std::size_t size, std::size_t count, FILE* f);
TUTTI_EXPORT int vfprintf(tx& t, FILE* f, const char* format, va_list arguments);
TUTTI_EXPORT int vprintf(tx& t, const char* format, va_list arguments);
[[gnu::format(printf, 3, 4)]] TUTTI_EXPORT int fprintf(tx& t, FILE* f, const char* format, ...);
[[gnu::format(printf, 2, 3)]] TUTTI_EXPORT int printf(tx& t, const char* format, ...);
TUTTI_EXPORT int fflush(tx& t, FILE* f);
/// @}

/// @name Input from streams
/// The functions read buffered bytes transactionally. If the buffer of a regular file is empty, the functions fill it,
/// and a roll-back seeks back. Output of the transaction comes first, as for a seek. In all other cases the transaction
/// becomes irrevocable first.
/// @{
TUTTI_EXPORT int fgetc(tx& t, FILE* f);
TUTTI_EXPORT int getc(tx& t, FILE* f);
TUTTI_EXPORT int getchar(tx& t);
/// Makes the transaction irrevocable if `c` is not the last character read.
TUTTI_EXPORT int ungetc(tx& t, int c, FILE* f);
TUTTI_EXPORT char* fgets(tx& t, char* to, int size, FILE* f);
TUTTI_EXPORT std::size_t fread(tx& t, void* to, std::size_t size, std::size_t count, FILE* f);
TUTTI_EXPORT ssize_t getline(tx& t, char** line, std::size_t* room, FILE* f);
TUTTI_EXPORT ssize_t getdelim(tx& t, char** line, std::size_t* room, int delimiter, FILE* f);
/// @}

/// @name Position and state of streams
/// A seek in a regular file takes effect at once, and a roll-back seeks back. If the buffer contains output of the
/// transaction, a seek or an input does not write it: the output waits for the commit. Until then, the transaction
/// reads the file as if the output had been written. If the commit cannot write the output, ferror reports the error.
/// For any other stream than a fully buffered regular file, the transaction becomes irrevocable.
/// @{
TUTTI_EXPORT int fseek(tx& t, FILE* f, long offset, int whence);
TUTTI_EXPORT int fseeko(tx& t, FILE* f, off_t offset, int whence);
TUTTI_EXPORT long ftell(tx& t, FILE* f);
TUTTI_EXPORT off_t ftello(tx& t, FILE* f);
TUTTI_EXPORT void rewind(tx& t, FILE* f);
TUTTI_EXPORT int fgetpos(tx& t, FILE* f, fpos_t* to);
TUTTI_EXPORT int fsetpos(tx& t, FILE* f, const fpos_t* from);
TUTTI_EXPORT int feof(tx& t, FILE* f);
TUTTI_EXPORT int ferror(tx& t, FILE* f);
TUTTI_EXPORT void clearerr(tx& t, FILE* f);
TUTTI_EXPORT int fileno(tx& t, FILE* f);
/// @}

/// @name Formats
/// `%s` reads its string and `%n` writes its number transactionally.
/// @{
TUTTI_EXPORT int vsnprintf(tx& t, char* to, std::size_t size, const char* format, va_list arguments);
TUTTI_EXPORT int vsprintf(tx& t, char* to, const char* format, va_list arguments);
[[gnu::format(printf, 4, 5)]] TUTTI_EXPORT int snprintf(tx& t, char* to, std::size_t size, const char* format,
                                                              ...);
[[gnu::format(printf, 3, 4)]] TUTTI_EXPORT int sprintf(tx& t, char* to, const char* format, ...);
/// @}

/// @name Bytes
/// The functions read only as much of their arguments as the result needs.
/// @{
TUTTI_EXPORT void* memcpy(tx& t, void* to, const void* from, std::size_t size);
TUTTI_EXPORT void* mempcpy(tx& t, void* to, const void* from, std::size_t size);
TUTTI_EXPORT void* memmove(tx& t, void* to, const void* from, std::size_t size);
TUTTI_EXPORT void* memset(tx& t, void* to, int c, std::size_t size);
TUTTI_EXPORT void* memccpy(tx& t, void* to, const void* from, int c, std::size_t size);
TUTTI_EXPORT int memcmp(tx& t, const void* a, const void* b, std::size_t size);
TUTTI_EXPORT int bcmp(tx& t, const void* a, const void* b, std::size_t size);
TUTTI_EXPORT void* memchr(tx& t, const void* in, int c, std::size_t size);
TUTTI_EXPORT void* rawmemchr(tx& t, const void* in, int c);
TUTTI_EXPORT void* memrchr(tx& t, const void* in, int c, std::size_t size);
/// O(n).
TUTTI_EXPORT void* memmem(tx& t, const void* in, std::size_t size, const void* needle, std::size_t needle_size);
TUTTI_EXPORT void bcopy(tx& t, const void* from, void* to, std::size_t size);
TUTTI_EXPORT void bzero(tx& t, void* to, std::size_t size);
TUTTI_EXPORT void explicit_bzero(tx& t, void* to, std::size_t size);
/// @}

/// @name Strings
/// The functions read only as much of their arguments as the result needs. A roll-back frees the memory that strdup and
/// strndup allocate. strtok makes the transaction irrevocable in a block of the language, because only glibc knows the
/// place where strtok stopped. This header provides strtok_r instead. strerror and strsignal need no form of their own.
/// @{
TUTTI_EXPORT std::size_t strlen(tx& t, const char* s);
TUTTI_EXPORT std::size_t strnlen(tx& t, const char* s, std::size_t limit);
TUTTI_EXPORT int strcmp(tx& t, const char* a, const char* b);
TUTTI_EXPORT int strncmp(tx& t, const char* a, const char* b, std::size_t limit);
TUTTI_EXPORT int strcasecmp(tx& t, const char* a, const char* b);
TUTTI_EXPORT int strncasecmp(tx& t, const char* a, const char* b, std::size_t limit);
/// Compares by value, as strcmp, if memory for copies runs out.
TUTTI_EXPORT int strcoll(tx& t, const char* a, const char* b);
/// If memory for copies runs out, returns `size`, as if the key did not fit, and sets errno to ENOMEM.
TUTTI_EXPORT std::size_t strxfrm(tx& t, char* to, const char* from, std::size_t size);
TUTTI_EXPORT char* strcpy(tx& t, char* to, const char* from);
TUTTI_EXPORT char* stpcpy(tx& t, char* to, const char* from);
TUTTI_EXPORT char* strncpy(tx& t, char* to, const char* from, std::size_t size);
TUTTI_EXPORT char* stpncpy(tx& t, char* to, const char* from, std::size_t size);
TUTTI_EXPORT char* strcat(tx& t, char* to, const char* from);
TUTTI_EXPORT char* strncat(tx& t, char* to, const char* from, std::size_t size);
TUTTI_EXPORT char* strdup(tx& t, const char* s);
TUTTI_EXPORT char* strndup(tx& t, const char* s, std::size_t limit);
TUTTI_EXPORT char* strchr(tx& t, const char* s, int c);
TUTTI_EXPORT char* strrchr(tx& t, const char* s, int c);
TUTTI_EXPORT char* strchrnul(tx& t, const char* s, int c);
TUTTI_EXPORT char* index(tx& t, const char* s, int c);
TUTTI_EXPORT char* rindex(tx& t, const char* s, int c);
/// O(n), as strcasestr.
TUTTI_EXPORT char* strstr(tx& t, const char* in, const char* needle);
TUTTI_EXPORT char* strcasestr(tx& t, const char* in, const char* needle);
TUTTI_EXPORT char* strpbrk(tx& t, const char* s, const char* set);
TUTTI_EXPORT std::size_t strspn(tx& t, const char* s, const char* set);
TUTTI_EXPORT std::size_t strcspn(tx& t, const char* s, const char* set);
TUTTI_EXPORT char* strtok_r(tx& t, char* s, const char* delimiters, char** rest);
TUTTI_EXPORT char* strsep(tx& t, char** rest, const char* delimiters);
/// The GNU version.
TUTTI_EXPORT char* strerror_r(tx& t, int error, char* to, std::size_t size);
/// @}

/// @name Wide strings
/// These functions behave as those for strings and bytes.
/// @{
TUTTI_EXPORT std::size_t wcslen(tx& t, const wchar_t* s);
TUTTI_EXPORT std::size_t wcsnlen(tx& t, const wchar_t* s, std::size_t limit);
TUTTI_EXPORT int wcscmp(tx& t, const wchar_t* a, const wchar_t* b);
TUTTI_EXPORT int wcsncmp(tx& t, const wchar_t* a, const wchar_t* b, std::size_t limit);
TUTTI_EXPORT int wcscasecmp(tx& t, const wchar_t* a, const wchar_t* b);
TUTTI_EXPORT int wcsncasecmp(tx& t, const wchar_t* a, const wchar_t* b, std::size_t limit);
TUTTI_EXPORT int wcscoll(tx& t, const wchar_t* a, const wchar_t* b);
TUTTI_EXPORT std::size_t wcsxfrm(tx& t, wchar_t* to, const wchar_t* from, std::size_t size);
TUTTI_EXPORT wchar_t* wcscpy(tx& t, wchar_t* to, const wchar_t* from);
TUTTI_EXPORT wchar_t* wcpcpy(tx& t, wchar_t* to, const wchar_t* from);
TUTTI_EXPORT wchar_t* wcsncpy(tx& t, wchar_t* to, const wchar_t* from, std::size_t size);
TUTTI_EXPORT wchar_t* wcpncpy(tx& t, wchar_t* to, const wchar_t* from, std::size_t size);
TUTTI_EXPORT wchar_t* wcscat(tx& t, wchar_t* to, const wchar_t* from);
TUTTI_EXPORT wchar_t* wcsncat(tx& t, wchar_t* to, const wchar_t* from, std::size_t size);
TUTTI_EXPORT wchar_t* wcsdup(tx& t, const wchar_t* s);
TUTTI_EXPORT wchar_t* wcschr(tx& t, const wchar_t* s, wchar_t c);
TUTTI_EXPORT wchar_t* wcsrchr(tx& t, const wchar_t* s, wchar_t c);
TUTTI_EXPORT wchar_t* wcschrnul(tx& t, const wchar_t* s, wchar_t c);
TUTTI_EXPORT wchar_t* wcsstr(tx& t, const wchar_t* in, const wchar_t* needle);
TUTTI_EXPORT wchar_t* wcspbrk(tx& t, const wchar_t* s, const wchar_t* set);
TUTTI_EXPORT std::size_t wcsspn(tx& t, const wchar_t* s, const wchar_t* set);
TUTTI_EXPORT std::size_t wcscspn(tx& t, const wchar_t* s, const wchar_t* set);
TUTTI_EXPORT wchar_t* wcstok(tx& t, wchar_t* s, const wchar_t* delimiters, wchar_t** rest);
TUTTI_EXPORT wchar_t* wmemcpy(tx& t, wchar_t* to, const wchar_t* from, std::size_t count);
TUTTI_EXPORT wchar_t* wmempcpy(tx& t, wchar_t* to, const wchar_t* from, std::size_t count);
TUTTI_EXPORT wchar_t* wmemmove(tx& t, wchar_t* to, const wchar_t* from, std::size_t count);
TUTTI_EXPORT wchar_t* wmemset(tx& t, wchar_t* to, wchar_t c, std::size_t count);
TUTTI_EXPORT int wmemcmp(tx& t, const wchar_t* a, const wchar_t* b, std::size_t count);
TUTTI_EXPORT wchar_t* wmemchr(tx& t, const wchar_t* in, wchar_t c, std::size_t count);
/// @}

/// @name Numbers
/// The functions read the string only up to the end of the number. If memory for a copy of a real number of more than
/// 500 characters runs out, they return no number and set errno to ENOMEM.
/// @{
TUTTI_EXPORT long strtol(tx& t, const char* s, char** end, int base);
TUTTI_EXPORT unsigned long strtoul(tx& t, const char* s, char** end, int base);
TUTTI_EXPORT long long strtoll(tx& t, const char* s, char** end, int base);
TUTTI_EXPORT unsigned long long strtoull(tx& t, const char* s, char** end, int base);
TUTTI_EXPORT std::intmax_t strtoimax(tx& t, const char* s, char** end, int base);
TUTTI_EXPORT std::uintmax_t strtoumax(tx& t, const char* s, char** end, int base);
TUTTI_EXPORT float strtof(tx& t, const char* s, char** end);
TUTTI_EXPORT double strtod(tx& t, const char* s, char** end);
TUTTI_EXPORT long double strtold(tx& t, const char* s, char** end);
TUTTI_EXPORT long wcstol(tx& t, const wchar_t* s, wchar_t** end, int base);
TUTTI_EXPORT unsigned long wcstoul(tx& t, const wchar_t* s, wchar_t** end, int base);
TUTTI_EXPORT long long wcstoll(tx& t, const wchar_t* s, wchar_t** end, int base);
TUTTI_EXPORT unsigned long long wcstoull(tx& t, const wchar_t* s, wchar_t** end, int base);
TUTTI_EXPORT std::intmax_t wcstoimax(tx& t, const wchar_t* s, wchar_t** end, int base);
TUTTI_EXPORT std::uintmax_t wcstoumax(tx& t, const wchar_t* s, wchar_t** end, int base);
TUTTI_EXPORT float wcstof(tx& t, const wchar_t* s, wchar_t** end);
TUTTI_EXPORT double wcstod(tx& t, const wchar_t* s, wchar_t** end);
TUTTI_EXPORT long double wcstold(tx& t, const wchar_t* s, wchar_t** end);
TUTTI_EXPORT int atoi(tx& t, const char* s);
TUTTI_EXPORT long atol(tx& t, const char* s);
TUTTI_EXPORT long long atoll(tx& t, const char* s);
TUTTI_EXPORT double atof(tx& t, const char* s);
/// @}

/// @name Sorting and searching
/// A block of the language calls the clone of `compare`; if there is no clone, the block runs alone. The elements are
/// sorted in a private copy, and only elements whose place changes are written. If a block of the library makes the
/// call, `compare` receives copies of the elements. `compare` has to access everything else through its transaction,
/// which qsort_r passes on. These functions throw std::bad_alloc if memory for the copy runs out; a block of the
/// language runs alone in this case.
/// @{
TUTTI_EXPORT void qsort(tx& t, void* base, std::size_t count, std::size_t size,
                               int (*compare)(const void*, const void*));
TUTTI_EXPORT void qsort_r(tx& t, void* base, std::size_t count, std::size_t size,
                                 int (*compare)(const void*, const void*, void*), void* argument);
TUTTI_EXPORT void* bsearch(tx& t, const void* key, const void* base, std::size_t count, std::size_t size,
                                  int (*compare)(const void*, const void*));
/// @}

/// @name Results in memory
/// These functions store a result, or read a name. The rest of <math.h>, <ctype.h> and <wctype.h> uses no memory of the
/// program, and neither do abs, div, htonl and similar functions, ffs, getpid, clock and strerror. You can call these
/// functions directly, in blocks of either kind. Each attempt reads the clock again.
/// @{
TUTTI_EXPORT int clock_gettime(tx& t, clockid_t clock, timespec* to);
TUTTI_EXPORT int clock_getres(tx& t, clockid_t clock, timespec* to);
TUTTI_EXPORT int timespec_get(tx& t, timespec* to, int base);
TUTTI_EXPORT time_t time(tx& t, time_t* to);
TUTTI_EXPORT int gettimeofday(tx& t, timeval* to, void* zone);
TUTTI_EXPORT double frexp(tx& t, double x, int* exponent);
TUTTI_EXPORT double modf(tx& t, double x, double* whole);
TUTTI_EXPORT double remquo(tx& t, double x, double y, int* quotient);
TUTTI_EXPORT void sincos(tx& t, double x, double* sine, double* cosine);
TUTTI_EXPORT double lgamma_r(tx& t, double x, int* sign);
TUTTI_EXPORT double lgamma(tx& t, double x);
TUTTI_EXPORT double nan(tx& t, const char* tag);
TUTTI_EXPORT float frexpf(tx& t, float x, int* exponent);
TUTTI_EXPORT float modff(tx& t, float x, float* whole);
TUTTI_EXPORT float remquof(tx& t, float x, float y, int* quotient);
TUTTI_EXPORT void sincosf(tx& t, float x, float* sine, float* cosine);
TUTTI_EXPORT float lgammaf_r(tx& t, float x, int* sign);
TUTTI_EXPORT float lgammaf(tx& t, float x);
TUTTI_EXPORT float nanf(tx& t, const char* tag);
TUTTI_EXPORT long double frexpl(tx& t, long double x, int* exponent);
TUTTI_EXPORT long double modfl(tx& t, long double x, long double* whole);
TUTTI_EXPORT long double remquol(tx& t, long double x, long double y, int* quotient);
TUTTI_EXPORT void sincosl(tx& t, long double x, long double* sine, long double* cosine);
TUTTI_EXPORT long double lgammal_r(tx& t, long double x, int* sign);
TUTTI_EXPORT long double lgammal(tx& t, long double x);
TUTTI_EXPORT long double nanl(tx& t, const char* tag);
TUTTI_EXPORT wctype_t wctype(tx& t, const char* name);
TUTTI_EXPORT wctrans_t wctrans(tx& t, const char* name);
/// @}

/// @name Allocation
/// A roll-back frees allocated memory. Memory that the transaction frees is released after the commit, once no running
/// transaction can see it (paper 004, figure 2).
/// @{
TUTTI_EXPORT void* malloc(tx& t, std::size_t size);
TUTTI_EXPORT void* calloc(tx& t, std::size_t count, std::size_t size);
TUTTI_EXPORT void free(tx& t, void* memory);
/// Always moves the memory, because a roll-back needs the old memory unchanged.
TUTTI_EXPORT void* realloc(tx& t, void* memory, std::size_t size);
TUTTI_EXPORT void* reallocarray(tx& t, void* memory, std::size_t count, std::size_t size);
TUTTI_EXPORT int posix_memalign(tx& t, void** to, std::size_t alignment, std::size_t size);
TUTTI_EXPORT void* aligned_alloc(tx& t, std::size_t alignment, std::size_t size);
TUTTI_EXPORT void* memalign(tx& t, std::size_t alignment, std::size_t size);
TUTTI_EXPORT void* valloc(tx& t, std::size_t size);
TUTTI_EXPORT std::size_t malloc_usable_size(tx& t, void* memory);
/// @}

/// @name Descriptors
/// A descriptor is created at once. A roll-back closes it, and removes a file that was created for it. The transaction
/// becomes irrevocable first if it opens a non-empty file with O_TRUNC, a device (other than /dev/null and similar
/// ones), or a pipe by its name. A closed descriptor stays open until the commit, but is closed for the functions of
/// this header. Its number is not reused before the commit. dup2 onto an open descriptor keeps the old file open until
/// the commit. As POSIX says, closing a duplicate releases fcntl locks; a roll-back does not restore them.
/// @{
TUTTI_EXPORT int openat(tx& t, int folder, const char* path, int flags, mode_t mode);
TUTTI_EXPORT int open(tx& t, const char* path, int flags, mode_t mode);
TUTTI_EXPORT int creat(tx& t, const char* path, mode_t mode);
TUTTI_EXPORT int close(tx& t, int fd);
TUTTI_EXPORT int dup(tx& t, int fd);
TUTTI_EXPORT int dup2(tx& t, int from, int to);
TUTTI_EXPORT int dup3(tx& t, int from, int to, int flags);
TUTTI_EXPORT int pipe(tx& t, int* ends);
TUTTI_EXPORT int pipe2(tx& t, int* ends, int flags);
TUTTI_EXPORT int fstat(tx& t, int fd, struct stat* to);
TUTTI_EXPORT int isatty(tx& t, int fd);
/// @}

/// @name Bytes of descriptors
/// In a regular file, the position moves at once, and a roll-back moves it back. A roll-back also truncates a file that
/// has grown. Transactions that use one file exclude each other until their ends, except for pread. Before a read from
/// anything but a regular file, before a write, and before it shortens a file, the transaction becomes irrevocable, so
/// that the result is the kernel's. The functions fsync and fdatasync take effect at once, because they need no undo. A
/// bad address is a fault of the program, not EFAULT. For a descriptor with O_DIRECT, the buffer is the transaction's
/// own, so the kernel may refuse it. fstat and stat do not wait for other transactions: they may see a file size that a
/// later roll-back changes.
/// @{
TUTTI_EXPORT ssize_t read(tx& t, int fd, void* to, std::size_t count);
TUTTI_EXPORT ssize_t pread(tx& t, int fd, void* to, std::size_t count, off_t from);
TUTTI_EXPORT ssize_t write(tx& t, int fd, const void* from, std::size_t count);
TUTTI_EXPORT ssize_t pwrite(tx& t, int fd, const void* from, std::size_t count, off_t to);
TUTTI_EXPORT off_t lseek(tx& t, int fd, off_t offset, int whence);
TUTTI_EXPORT int ftruncate(tx& t, int fd, off_t size);
TUTTI_EXPORT int fsync(tx& t, int fd);
TUTTI_EXPORT int fdatasync(tx& t, int fd);
/// @}

/// @name Files by name
/// mkdir, rename to an unused name, and truncate to a larger size take effect at once. A roll-back undoes them, unless
/// the name belongs to another file by then. unlink and rmdir of an existing name, rename onto a used name, and
/// truncate to a smaller size make the transaction irrevocable first.
/// @{
TUTTI_EXPORT int stat(tx& t, const char* path, struct stat* to);
TUTTI_EXPORT int lstat(tx& t, const char* path, struct stat* to);
TUTTI_EXPORT int access(tx& t, const char* path, int mode);
TUTTI_EXPORT int unlink(tx& t, const char* path);
TUTTI_EXPORT int rmdir(tx& t, const char* path);
TUTTI_EXPORT int mkdir(tx& t, const char* path, mode_t mode);
TUTTI_EXPORT int rename(tx& t, const char* from, const char* to);
TUTTI_EXPORT int truncate(tx& t, const char* path, off_t size);
/// @}

/// @name Scanning
/// Scanning follows C99: `%a` is a number. The functions read a string in pieces of 64 bytes or more, and only as far
/// as the scan needs. From a stream, they read bytes as fgetc does. They write results transactionally. A roll-back
/// frees the memory that `%m` allocates.
/// @{
TUTTI_EXPORT int vsscanf(tx& t, const char* s, const char* format, va_list arguments);
TUTTI_EXPORT int vfscanf(tx& t, FILE* f, const char* format, va_list arguments);
TUTTI_EXPORT int vscanf(tx& t, const char* format, va_list arguments);
[[gnu::format(scanf, 3, 4)]] TUTTI_EXPORT int sscanf(tx& t, const char* s, const char* format, ...);
[[gnu::format(scanf, 3, 4)]] TUTTI_EXPORT int fscanf(tx& t, FILE* f, const char* format, ...);
[[gnu::format(scanf, 2, 3)]] TUTTI_EXPORT int scanf(tx& t, const char* format, ...);
/// @}

/// @name Opening and closing streams
/// A stream is opened at once. A roll-back closes it, and removes a file that was created for it. Opening a non-empty
/// file for rewriting, or a device, makes the transaction irrevocable first. fclose waits for the commit. If the
/// transaction has pending output in the stream, fclose makes the transaction irrevocable first, so that fclose can
/// return a write error. freopen, setvbuf, setbuf, fcloseall and perror make the transaction irrevocable.
/// @{
TUTTI_EXPORT FILE* fopen(tx& t, const char* path, const char* mode);
TUTTI_EXPORT FILE* fdopen(tx& t, int fd, const char* mode);
TUTTI_EXPORT FILE* freopen(tx& t, const char* path, const char* mode, FILE* f);
TUTTI_EXPORT FILE* tmpfile(tx& t);
TUTTI_EXPORT int fclose(tx& t, FILE* f);
TUTTI_EXPORT int fcloseall(tx& t);
TUTTI_EXPORT int setvbuf(tx& t, FILE* f, char* buffer, int mode, std::size_t size);
TUTTI_EXPORT void setbuf(tx& t, FILE* f, char* buffer);
TUTTI_EXPORT void perror(tx& t, const char* s);
/// @}

/// @name Unlocked stream functions
/// These functions behave as the forms that lock, because the transaction owns the stream.
/// @{
TUTTI_EXPORT int fputc_unlocked(tx& t, int c, FILE* f);
TUTTI_EXPORT int putc_unlocked(tx& t, int c, FILE* f);
TUTTI_EXPORT int putchar_unlocked(tx& t, int c);
TUTTI_EXPORT int fputs_unlocked(tx& t, const char* s, FILE* f);
TUTTI_EXPORT std::size_t fwrite_unlocked(tx& t, const void* from, std::size_t size, std::size_t count, FILE* f);
TUTTI_EXPORT int fflush_unlocked(tx& t, FILE* f);
TUTTI_EXPORT int fgetc_unlocked(tx& t, FILE* f);
TUTTI_EXPORT int getc_unlocked(tx& t, FILE* f);
TUTTI_EXPORT int getchar_unlocked(tx& t);
TUTTI_EXPORT char* fgets_unlocked(tx& t, char* to, int size, FILE* f);
TUTTI_EXPORT std::size_t fread_unlocked(tx& t, void* to, std::size_t size, std::size_t count, FILE* f);
TUTTI_EXPORT int feof_unlocked(tx& t, FILE* f);
TUTTI_EXPORT int ferror_unlocked(tx& t, FILE* f);
TUTTI_EXPORT void clearerr_unlocked(tx& t, FILE* f);
TUTTI_EXPORT int fileno_unlocked(tx& t, FILE* f);
/// @}

/// @name Formats into new memory, and into descriptors
/// A roll-back frees the memory that asprintf allocates. dprintf makes the transaction irrevocable, as write does.
/// @{
TUTTI_EXPORT int vasprintf(tx& t, char** to, const char* format, va_list arguments);
TUTTI_EXPORT int vdprintf(tx& t, int fd, const char* format, va_list arguments);
[[gnu::format(printf, 3, 4)]] TUTTI_EXPORT int asprintf(tx& t, char** to, const char* format, ...);
[[gnu::format(printf, 3, 4)]] TUTTI_EXPORT int dprintf(tx& t, int fd, const char* format, ...);
/// @}

/// @name Notifications to other threads
/// These calls are deferred until the transaction has committed. Functions that wait for other threads (mutexes, waits
/// for conditions and semaphores) are not allowed in atomic blocks: use retry. The result is 0. If there is no memory
/// to defer the call, the result is ENOMEM, or -1 with errno ENOMEM for sem_post. The function sem_post also fails with
/// EOVERFLOW if the semaphore is at its largest value at the call.
/// @{
TUTTI_EXPORT int pthread_cond_signal(tx& t, pthread_cond_t* c);
TUTTI_EXPORT int pthread_cond_broadcast(tx& t, pthread_cond_t* c);
TUTTI_EXPORT int sem_post(tx& t, sem_t* s);
/// @}

/// @name The environment
/// A change takes effect at once, and a roll-back undoes it. Transactions that read the environment and a transaction
/// that changes it exclude each other until their ends. If the transaction has written a string that is not in memory
/// yet, putenv copies the string.
/// @{
TUTTI_EXPORT char* getenv(tx& t, const char* name);
TUTTI_EXPORT int setenv(tx& t, const char* name, const char* value, int overwrite);
TUTTI_EXPORT int unsetenv(tx& t, const char* name);
TUTTI_EXPORT int putenv(tx& t, char* string);
/// @}

/// @name Random numbers
/// A roll-back restores the generator. One transaction at a time uses rand and random. If a thread calls them outside
/// of transactions just when a transaction first uses them or is rolled back, both may get numbers of another sequence.
/// The state of the drand48 family is ordinary memory.
/// @{
TUTTI_EXPORT long random(tx& t);
TUTTI_EXPORT int rand(tx& t);
TUTTI_EXPORT void srandom(tx& t, unsigned seed);
TUTTI_EXPORT void srand(tx& t, unsigned seed);
TUTTI_EXPORT int rand_r(tx& t, unsigned* seed);
TUTTI_EXPORT double drand48(tx& t);
TUTTI_EXPORT long lrand48(tx& t);
TUTTI_EXPORT long mrand48(tx& t);
TUTTI_EXPORT double erand48(tx& t, unsigned short* state);
TUTTI_EXPORT long nrand48(tx& t, unsigned short* state);
TUTTI_EXPORT long jrand48(tx& t, unsigned short* state);
TUTTI_EXPORT void srand48(tx& t, long seed);
/// @}

/// @name The process
/// exit, _exit, atexit, setlocale with a locale, and all functions that sleep make the transaction irrevocable. An exit
/// drops all actions that were deferred to the commit. syslog formats its text at once and sends the text at the
/// commit.
/// @{
TUTTI_EXPORT void exit(tx& t, int status);
TUTTI_EXPORT void _exit(tx& t, int status);
TUTTI_EXPORT int atexit(tx& t, void (*f)());
TUTTI_EXPORT unsigned sleep(tx& t, unsigned seconds);
TUTTI_EXPORT int usleep(tx& t, unsigned microseconds);
TUTTI_EXPORT int nanosleep(tx& t, const timespec* duration, timespec* rest);
TUTTI_EXPORT lconv* localeconv(tx& t);
TUTTI_EXPORT char* setlocale(tx& t, int category, const char* locale);
TUTTI_EXPORT void vsyslog(tx& t, int priority, const char* format, va_list arguments);
[[gnu::format(printf, 3, 4)]] TUTTI_EXPORT void syslog(tx& t, int priority, const char* format, ...);
/// @}

/// @name Calendar times
/// Functions that depend on the time zone read the environment, and share its lock with other readers. The static
/// results of localtime, gmtime, asctime and ctime are ordinary memory. A year of more than four digits makes asctime
/// and ctime irrevocable.
/// @{
TUTTI_EXPORT tm* localtime(tx& t, const time_t* at);
TUTTI_EXPORT tm* gmtime(tx& t, const time_t* at);
TUTTI_EXPORT char* asctime(tx& t, const tm* at);
TUTTI_EXPORT char* ctime(tx& t, const time_t* at);
TUTTI_EXPORT time_t mktime(tx& t, tm* at);
TUTTI_EXPORT std::size_t strftime(tx& t, char* to, std::size_t size, const char* format, const tm* at);
TUTTI_EXPORT tm* localtime_r(tx& t, const time_t* at, tm* to);
TUTTI_EXPORT tm* gmtime_r(tx& t, const time_t* at, tm* to);
TUTTI_EXPORT char* asctime_r(tx& t, const tm* at, char* to);
TUTTI_EXPORT char* ctime_r(tx& t, const time_t* at, char* to);
TUTTI_EXPORT void tzset(tx& t);
TUTTI_EXPORT time_t timegm(tx& t, tm* at);
TUTTI_EXPORT char* strptime(tx& t, const char* text, const char* format, tm* to);
TUTTI_EXPORT std::size_t strftime_l(tx& t, char* to, std::size_t size, const char* format, const tm* at,
                                           locale_t locale);
TUTTI_EXPORT std::size_t wcsftime(tx& t, wchar_t* to, std::size_t size, const wchar_t* format, const tm* at);
TUTTI_EXPORT std::size_t wcsftime_l(tx& t, wchar_t* to, std::size_t size, const wchar_t* format, const tm* at,
                                           locale_t locale);
/// @}

/// @name Characters of several bytes
/// If the program passes no state, the conversion uses a hidden state of the C library and makes the transaction
/// irrevocable. The functions mbtowc, mblen and wctomb begin each call in the initial state.
/// @{
TUTTI_EXPORT std::size_t mbrtowc(tx& t, wchar_t* to, const char* from, std::size_t limit, mbstate_t* state);
TUTTI_EXPORT std::size_t mbrlen(tx& t, const char* from, std::size_t limit, mbstate_t* state);
TUTTI_EXPORT std::size_t wcrtomb(tx& t, char* to, wchar_t wide, mbstate_t* state);
TUTTI_EXPORT std::size_t mbsrtowcs(tx& t, wchar_t* to, const char** from, std::size_t count, mbstate_t* state);
TUTTI_EXPORT std::size_t wcsrtombs(tx& t, char* to, const wchar_t** from, std::size_t count, mbstate_t* state);
TUTTI_EXPORT std::size_t mbsnrtowcs(tx& t, wchar_t* to, const char** from, std::size_t limit, std::size_t count,
                                           mbstate_t* state);
TUTTI_EXPORT std::size_t wcsnrtombs(tx& t, char* to, const wchar_t** from, std::size_t limit, std::size_t count,
                                           mbstate_t* state);
TUTTI_EXPORT int wcswidth(tx& t, const wchar_t* s, std::size_t count);
TUTTI_EXPORT int mbtowc(tx& t, wchar_t* to, const char* from, std::size_t limit);
TUTTI_EXPORT int mblen(tx& t, const char* from, std::size_t limit);
TUTTI_EXPORT int wctomb(tx& t, char* to, wchar_t wide);
TUTTI_EXPORT std::size_t mbstowcs(tx& t, wchar_t* to, const char* from, std::size_t count);
TUTTI_EXPORT std::size_t wcstombs(tx& t, char* to, const wchar_t* from, std::size_t count);
TUTTI_EXPORT std::size_t mbrtoc16(tx& t, char16_t* to, const char* from, std::size_t limit, mbstate_t* state);
TUTTI_EXPORT std::size_t mbrtoc32(tx& t, char32_t* to, const char* from, std::size_t limit, mbstate_t* state);
TUTTI_EXPORT std::size_t c16rtomb(tx& t, char* to, char16_t wide, mbstate_t* state);
TUTTI_EXPORT std::size_t c32rtomb(tx& t, char* to, char32_t wide, mbstate_t* state);
/// @}

/// @name Files by their names, continued
/// A roll-back removes a name that the transaction has made. Functions that remove or replace a name, chdir and umask
/// make the transaction irrevocable.
/// @{
TUTTI_EXPORT int remove(tx& t, const char* path);
TUTTI_EXPORT int renameat(tx& t, int from_folder, const char* from, int to_folder, const char* to);
TUTTI_EXPORT int renameat2(tx& t, int from_folder, const char* from, int to_folder, const char* to,
                                  unsigned flags);
TUTTI_EXPORT int link(tx& t, const char* from, const char* to);
TUTTI_EXPORT int chdir(tx& t, const char* path);
TUTTI_EXPORT char* getcwd(tx& t, char* to, std::size_t size);
TUTTI_EXPORT int faccessat(tx& t, int folder, const char* path, int mode, int flags);
TUTTI_EXPORT int linkat(tx& t, int from_folder, const char* from, int to_folder, const char* to, int flags);
TUTTI_EXPORT int symlinkat(tx& t, const char* target, int folder, const char* path);
TUTTI_EXPORT ssize_t readlinkat(tx& t, int folder, const char* path, char* to, std::size_t size);
TUTTI_EXPORT int unlinkat(tx& t, int folder, const char* path, int flags);
TUTTI_EXPORT int euidaccess(tx& t, const char* path, int mode);
TUTTI_EXPORT int eaccess(tx& t, const char* path, int mode);
TUTTI_EXPORT char* get_current_dir_name(tx& t);
TUTTI_EXPORT int symlink(tx& t, const char* target, const char* path);
TUTTI_EXPORT ssize_t readlink(tx& t, const char* path, char* to, std::size_t size);
TUTTI_EXPORT int fchdir(tx& t, int fd);
TUTTI_EXPORT long pathconf(tx& t, const char* path, int name);
TUTTI_EXPORT long fpathconf(tx& t, int fd, int name);
TUTTI_EXPORT int chmod(tx& t, const char* path, mode_t mode);
TUTTI_EXPORT int mkfifo(tx& t, const char* path, mode_t mode);
TUTTI_EXPORT mode_t umask(tx& t, mode_t mode);
TUTTI_EXPORT int fchmod(tx& t, int fd, mode_t mode);
TUTTI_EXPORT int fstatat(tx& t, int folder, const char* path, struct stat* to, int flags);
TUTTI_EXPORT int mkdirat(tx& t, int folder, const char* path, mode_t mode);
TUTTI_EXPORT int mkfifoat(tx& t, int folder, const char* path, mode_t mode);
TUTTI_EXPORT char* realpath(tx& t, const char* path, char* to);
TUTTI_EXPORT char* canonicalize_file_name(tx& t, const char* path);
/// @}

/// @name Temporary files and folders
/// A file or folder is created at once, and a roll-back removes it.
/// @{
TUTTI_EXPORT int mkstemp(tx& t, char* path);
TUTTI_EXPORT int mkstemps(tx& t, char* path, int suffix);
TUTTI_EXPORT char* mkdtemp(tx& t, char* path);
TUTTI_EXPORT int mkostemp(tx& t, char* path, int flags);
TUTTI_EXPORT int mkostemps(tx& t, char* path, int suffix, int flags);
/// @}

/// @name Folders
/// A roll-back closes an opened folder, and restores the position. One transaction at a time uses an open folder. The
/// close of a folder by closedir waits for the commit. The result of readdir is a copy of the entry, which is valid
/// until the next call for the same folder or its closedir.
/// @{
TUTTI_EXPORT DIR* opendir(tx& t, const char* path);
TUTTI_EXPORT int closedir(tx& t, DIR* folder);
TUTTI_EXPORT dirent* readdir(tx& t, DIR* folder);
TUTTI_EXPORT void rewinddir(tx& t, DIR* folder);
TUTTI_EXPORT DIR* fdopendir(tx& t, int fd);
TUTTI_EXPORT void seekdir(tx& t, DIR* folder, long position);
TUTTI_EXPORT long telldir(tx& t, DIR* folder);
TUTTI_EXPORT int dirfd(tx& t, DIR* folder);
/// @}

/// @name Descriptors, continued
/// A query by fcntl has no effect. A roll-back undoes F_DUPFD, F_SETFD and F_SETFL. Every other command makes the
/// transaction irrevocable. If this command takes a lock structure, fcntl reads and writes the structure
/// transactionally. The variants of writev make the transaction irrevocable as write does, and the variants of readv as
/// read does.
/// @{
TUTTI_EXPORT int fcntl(tx& t, int fd, int command, std::intptr_t argument = 0);
TUTTI_EXPORT ssize_t readv(tx& t, int fd, const iovec* parts, int count);
TUTTI_EXPORT ssize_t writev(tx& t, int fd, const iovec* parts, int count);
TUTTI_EXPORT ssize_t preadv(tx& t, int fd, const iovec* parts, int count, off_t from);
TUTTI_EXPORT ssize_t pwritev(tx& t, int fd, const iovec* parts, int count, off_t to);
/// @}

/// @name Wide streams and formats
/// A call on a wide stream makes the transaction irrevocable, except for a query of the orientation by fwide. swprintf
/// only computes, as sprintf does.
/// @{
TUTTI_EXPORT wint_t fgetwc(tx& t, FILE* f);
TUTTI_EXPORT wint_t getwc(tx& t, FILE* f);
TUTTI_EXPORT wint_t getwchar(tx& t);
TUTTI_EXPORT wint_t fputwc(tx& t, wchar_t c, FILE* f);
TUTTI_EXPORT wint_t putwc(tx& t, wchar_t c, FILE* f);
TUTTI_EXPORT wint_t putwchar(tx& t, wchar_t c);
TUTTI_EXPORT wint_t ungetwc(tx& t, wint_t c, FILE* f);
TUTTI_EXPORT wchar_t* fgetws(tx& t, wchar_t* to, int size, FILE* f);
TUTTI_EXPORT int fputws(tx& t, const wchar_t* s, FILE* f);
TUTTI_EXPORT int fwide(tx& t, FILE* f, int mode);
TUTTI_EXPORT int vswprintf(tx& t, wchar_t* to, std::size_t size, const wchar_t* format, va_list arguments);
TUTTI_EXPORT int vfwprintf(tx& t, FILE* f, const wchar_t* format, va_list arguments);
TUTTI_EXPORT int vwprintf(tx& t, const wchar_t* format, va_list arguments);
TUTTI_EXPORT int swprintf(tx& t, wchar_t* to, std::size_t size, const wchar_t* format, ...);
TUTTI_EXPORT int fwprintf(tx& t, FILE* f, const wchar_t* format, ...);
TUTTI_EXPORT int wprintf(tx& t, const wchar_t* format, ...);
TUTTI_EXPORT wint_t fgetwc_unlocked(tx& t, FILE* f);
TUTTI_EXPORT wint_t getwc_unlocked(tx& t, FILE* f);
TUTTI_EXPORT wint_t getwchar_unlocked(tx& t);
TUTTI_EXPORT wint_t fputwc_unlocked(tx& t, wchar_t c, FILE* f);
TUTTI_EXPORT wint_t putwc_unlocked(tx& t, wchar_t c, FILE* f);
TUTTI_EXPORT wint_t putwchar_unlocked(tx& t, wchar_t c);
TUTTI_EXPORT wchar_t* fgetws_unlocked(tx& t, wchar_t* to, int size, FILE* f);
TUTTI_EXPORT int fputws_unlocked(tx& t, const wchar_t* s, FILE* f);
/// @}

/// @name Streams, continued
/// The lock of a stream makes the transaction own the stream. funlockfile waits for the commit.
/// @{
TUTTI_EXPORT void flockfile(tx& t, FILE* f);
TUTTI_EXPORT void funlockfile(tx& t, FILE* f);
TUTTI_EXPORT int ftrylockfile(tx& t, FILE* f);
TUTTI_EXPORT void setbuffer(tx& t, FILE* f, char* buffer, std::size_t size);
TUTTI_EXPORT void setlinebuf(tx& t, FILE* f);
TUTTI_EXPORT int getw(tx& t, FILE* f);
TUTTI_EXPORT int putw(tx& t, int word, FILE* f);
/// @}

/// @name Random numbers, continued
/// seed48 and lcong48 write the state of the drand48 family. initstate and setstate install another state for random,
/// which a roll-back undoes. A function whose state is in a structure of the program uses only this structure.
/// @{
TUTTI_EXPORT char* initstate(tx& t, unsigned seed, char* state, std::size_t size);
TUTTI_EXPORT char* setstate(tx& t, char* state);
TUTTI_EXPORT unsigned short* seed48(tx& t, unsigned short* seed);
TUTTI_EXPORT void lcong48(tx& t, unsigned short* parameters);
TUTTI_EXPORT int drand48_r(tx& t, drand48_data* data, double* to);
TUTTI_EXPORT int lrand48_r(tx& t, drand48_data* data, long* to);
TUTTI_EXPORT int mrand48_r(tx& t, drand48_data* data, long* to);
TUTTI_EXPORT int erand48_r(tx& t, unsigned short* state, drand48_data* data, double* to);
TUTTI_EXPORT int nrand48_r(tx& t, unsigned short* state, drand48_data* data, long* to);
TUTTI_EXPORT int jrand48_r(tx& t, unsigned short* state, drand48_data* data, long* to);
TUTTI_EXPORT int srand48_r(tx& t, long seed, drand48_data* data);
TUTTI_EXPORT int seed48_r(tx& t, unsigned short* seed, drand48_data* data);
TUTTI_EXPORT int lcong48_r(tx& t, unsigned short* parameters, drand48_data* data);
/// @}

/// @name The process and its threads
/// Queries use no memory of the program except, in some cases, to store their answer. A value for a key is set at once,
/// and a roll-back undoes it. The commit deletes a key.
/// @{
TUTTI_EXPORT int getgroups(tx& t, int count, gid_t* to);
TUTTI_EXPORT int gethostname(tx& t, char* to, std::size_t size);
TUTTI_EXPORT int getdomainname(tx& t, char* to, std::size_t size);
TUTTI_EXPORT int getentropy(tx& t, void* to, std::size_t size);
TUTTI_EXPORT std::size_t confstr(tx& t, int name, char* to, std::size_t size);
TUTTI_EXPORT int getresuid(tx& t, uid_t* real, uid_t* effective, uid_t* saved);
TUTTI_EXPORT int getresgid(tx& t, gid_t* real, gid_t* effective, gid_t* saved);
TUTTI_EXPORT int ttyname_r(tx& t, int fd, char* to, std::size_t size);
TUTTI_EXPORT void swab(tx& t, const void* from, void* to, ssize_t size);
TUTTI_EXPORT int pthread_setspecific(tx& t, pthread_key_t key, const void* value);
TUTTI_EXPORT int pthread_key_create(tx& t, pthread_key_t* key, void (*destroy)(void*));
TUTTI_EXPORT int pthread_key_delete(tx& t, pthread_key_t key);
TUTTI_EXPORT int sem_getvalue(tx& t, sem_t* s, int* to);
TUTTI_EXPORT int sem_trywait(tx& t, sem_t* s);
TUTTI_EXPORT int uname(tx& t, struct utsname* to);
TUTTI_EXPORT clock_t times(tx& t, struct tms* to);
TUTTI_EXPORT int getrusage(tx& t, int who, struct rusage* to);
TUTTI_EXPORT int getrlimit(tx& t, int resource, struct rlimit* to);
TUTTI_EXPORT ssize_t getrandom(tx& t, void* to, std::size_t size, unsigned flags);
TUTTI_EXPORT int getloadavg(tx& t, double* to, int count);
/// @}

/// @name Text and numbers, continued
/// These functions only compute from their arguments.
/// @{
TUTTI_EXPORT int ecvt_r(tx& t, double x, int digits, int* point, int* sign, char* to, std::size_t size);
TUTTI_EXPORT int fcvt_r(tx& t, double x, int digits, int* point, int* sign, char* to, std::size_t size);
TUTTI_EXPORT int qecvt_r(tx& t, long double x, int digits, int* point, int* sign, char* to, std::size_t size);
TUTTI_EXPORT int qfcvt_r(tx& t, long double x, int digits, int* point, int* sign, char* to, std::size_t size);
TUTTI_EXPORT char* gcvt(tx& t, double x, int digits, char* to);
TUTTI_EXPORT char* qgcvt(tx& t, long double x, int digits, char* to);
TUTTI_EXPORT int strfromd(tx& t, char* to, std::size_t size, const char* format, double x);
TUTTI_EXPORT int strfromf(tx& t, char* to, std::size_t size, const char* format, float x);
TUTTI_EXPORT int strfroml(tx& t, char* to, std::size_t size, const char* format, long double x);
TUTTI_EXPORT in_addr_t inet_addr(tx& t, const char* text);
TUTTI_EXPORT int inet_pton(tx& t, int family, const char* text, void* to);
TUTTI_EXPORT const char* inet_ntop(tx& t, int family, const void* address, char* to, unsigned size);
TUTTI_EXPORT int inet_aton(tx& t, const char* text, in_addr* to);
TUTTI_EXPORT int fnmatch(tx& t, const char* pattern, const char* text, int flags);
TUTTI_EXPORT void* memfrob(tx& t, void* memory, std::size_t size);
TUTTI_EXPORT int timespec_getres(tx& t, timespec* to, int base);
/// @}

}  // namespace tutti::libc
