/// @file
/// The C library inside transactions: for each function a form that takes the transaction and is rolled back with it.
///
/// Blocks of the language need none of this: `tutti-cc` and `tutti-c++` compile their ordinary calls to the same bodies.
/// Link `tutti::libc` (`-ltutti-c`). What a function returns, what it sets errno to and what it does when it fails is as
/// glibc has it; here stands what it does in a transaction. All of them may restart the block, and may throw
/// std::bad_alloc when memory for the logs runs out. Memory that they are given by pointer is read and written
/// transactionally.
///
/// The design follows V. Smiljković et al., "TM-dietlibc: A TM-aware Real-world System Library" (IPDPS 2013): calls run
/// transactionally as long as they make no system call, undo by compensation those that can be undone, and make the
/// transaction irrevocable as late as possible else.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include <sys/types.h>

#include "tutti/tx.hpp"

namespace tutti::libc {

/// @name Output to streams
/// What the stream's buffer takes is undone by a roll-back. A call for which glibc would have to write (the buffer is
/// full, the stream unbuffered, or a line ends in a stream that is buffered by lines) makes the transaction irrevocable
/// first. One transaction at a time owns a stream, from its first call to its end; threads outside of transactions
/// wait for it in glibc's own lock. The clone of fflush does nothing where nothing is to be written.
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
/// What is in the buffer is taken transactionally. An empty buffer of a regular file is filled, and a roll-back seeks
/// back; for anything else the transaction becomes irrevocable first.
/// @{
TUTTI_EXPORT int fgetc(tx& t, FILE* f);
TUTTI_EXPORT int getc(tx& t, FILE* f);
TUTTI_EXPORT int getchar(tx& t);
/// Irrevocable for another character than the one that was read last.
TUTTI_EXPORT int ungetc(tx& t, int c, FILE* f);
TUTTI_EXPORT char* fgets(tx& t, char* to, int size, FILE* f);
TUTTI_EXPORT std::size_t fread(tx& t, void* to, std::size_t size, std::size_t count, FILE* f);
TUTTI_EXPORT ssize_t getline(tx& t, char** line, std::size_t* room, FILE* f);
TUTTI_EXPORT ssize_t getdelim(tx& t, char** line, std::size_t* room, int delimiter, FILE* f);
/// @}

/// @name Position and state of streams
/// A seek in a regular file is made at once and undone by a seek; where output waits to be written, the transaction
/// becomes irrevocable first.
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

/// @name Allocation
/// Memory that is allocated goes back with a roll-back; what is freed goes back with the commit, once no running
/// transaction can see it (paper 004, figure 2).
/// @{
TUTTI_EXPORT void* realloc(tx& t, void* memory, std::size_t size);
/// @}

}  // namespace tutti::libc
