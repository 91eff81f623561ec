#include_next <stdio.h>

#include "tutti-wrap.h"

/* Other headers also include <stdio.h> for parts of it. */
#if defined(_STDIO_H) && !defined(TUTTI_STDIO_H)
#define TUTTI_STDIO_H
TUTTI_WRAP_BEGIN
TUTTI_BUILTIN(5, fputc)
TUTTI_WRAPPED(4, putc)
TUTTI_BUILTIN(7, putchar)
TUTTI_BUILTIN(5, fputs)
TUTTI_BUILTIN(4, puts)
TUTTI_BUILTIN(6, fwrite)
TUTTI_WRAPPED(6, fflush)
TUTTI_BUILTIN(7, fprintf)
TUTTI_BUILTIN(6, printf)
TUTTI_BUILTIN(8, vfprintf)
TUTTI_BUILTIN(7, vprintf)
TUTTI_BUILTIN(7, sprintf)
TUTTI_BUILTIN(8, vsprintf)
TUTTI_WRAPPED(5, fgetc)
TUTTI_WRAPPED(4, getc)
TUTTI_WRAPPED(7, getchar)
TUTTI_WRAPPED(6, ungetc)
TUTTI_WRAPPED(5, fgets)
TUTTI_WRAPPED(5, fread)
TUTTI_WRAPPED(5, fseek)
TUTTI_WRAPPED(5, ftell)
TUTTI_WRAPPED(6, rewind)
TUTTI_WRAPPED(7, fgetpos)
TUTTI_WRAPPED(7, fsetpos)
TUTTI_WRAPPED(4, feof)
TUTTI_WRAPPED(6, ferror)
TUTTI_WRAPPED(8, clearerr)
TUTTI_WRAPPED(6, rename)
TUTTI_WRAPPED(5, fopen)
TUTTI_WRAPPED(7, freopen)
TUTTI_WRAPPED(7, tmpfile)
TUTTI_WRAPPED(6, fclose)
TUTTI_WRAPPED(7, setvbuf)
TUTTI_WRAPPED(6, setbuf)
TUTTI_WRAPPED(6, perror)
#ifdef __USE_LARGEFILE64
TUTTI_WRAPPED(7, fopen64)
TUTTI_WRAPPED(9, freopen64)
TUTTI_WRAPPED(9, tmpfile64)
#endif
#if defined(__USE_ISOC99) || defined(__USE_UNIX98)
TUTTI_BUILTIN(8, snprintf)
TUTTI_BUILTIN(9, vsnprintf)
#endif
/* Before C99, GNU's %a has another meaning. */
#if !__GLIBC_USE(DEPRECATED_SCANF)
TUTTI_BUILTIN(6, sscanf)
TUTTI_BUILTIN(6, fscanf)
TUTTI_BUILTIN(5, scanf)
#ifdef __USE_ISOC99
TUTTI_BUILTIN(7, vsscanf)
TUTTI_BUILTIN(7, vfscanf)
TUTTI_BUILTIN(6, vscanf)
#endif
#endif
#ifdef __USE_POSIX
TUTTI_WRAPPED(6, fileno)
TUTTI_WRAPPED(6, fdopen)
#endif
#ifdef __USE_POSIX199309
TUTTI_WRAPPED(13, putc_unlocked)
TUTTI_BUILTIN(16, putchar_unlocked)
TUTTI_WRAPPED(13, getc_unlocked)
TUTTI_WRAPPED(16, getchar_unlocked)
#endif
#ifdef __USE_MISC
TUTTI_BUILTIN(14, fputc_unlocked)
TUTTI_BUILTIN(15, fwrite_unlocked)
TUTTI_WRAPPED(15, fflush_unlocked)
TUTTI_WRAPPED(14, fgetc_unlocked)
TUTTI_WRAPPED(14, fread_unlocked)
TUTTI_WRAPPED(13, feof_unlocked)
TUTTI_WRAPPED(15, ferror_unlocked)
TUTTI_WRAPPED(17, clearerr_unlocked)
TUTTI_WRAPPED(15, fileno_unlocked)
#endif
#ifdef __USE_GNU
TUTTI_WRAPPED(9, fcloseall)
TUTTI_BUILTIN(14, fputs_unlocked)
TUTTI_WRAPPED(14, fgets_unlocked)
#endif
#if __GLIBC_USE(LIB_EXT2)
TUTTI_WRAPPED(8, asprintf)
TUTTI_WRAPPED(9, vasprintf)
#endif
#if defined(__USE_LARGEFILE) || defined(__USE_XOPEN2K)
TUTTI_WRAPPED(6, fseeko)
TUTTI_WRAPPED(6, ftello)
#endif
#ifdef __USE_XOPEN2K8
TUTTI_WRAPPED(7, dprintf)
TUTTI_WRAPPED(8, vdprintf)
TUTTI_WRAPPED(7, getline)
TUTTI_WRAPPED(8, getdelim)
#endif
TUTTI_WRAPPED(6, remove)
#if defined(__USE_ATFILE)
TUTTI_WRAPPED(8, renameat)
#endif
#if defined(__USE_GNU)
TUTTI_WRAPPED(9, renameat2)
#endif
#if defined(__USE_POSIX199506)
TUTTI_WRAPPED(9, flockfile)
TUTTI_WRAPPED(11, funlockfile)
TUTTI_WRAPPED(12, ftrylockfile)
#endif
#if defined(__USE_MISC)
TUTTI_WRAPPED(9, setbuffer)
TUTTI_WRAPPED(10, setlinebuf)
#endif
#if defined(__USE_MISC) || (defined(__USE_XOPEN) && !defined(__USE_XOPEN2K))
TUTTI_WRAPPED(4, getw)
TUTTI_WRAPPED(4, putw)
#endif
#if defined(__USE_LARGEFILE64)
TUTTI_WRAPPED(8, fseeko64)
TUTTI_WRAPPED(8, ftello64)
TUTTI_WRAPPED(9, fgetpos64)
TUTTI_WRAPPED(9, fsetpos64)
#endif
TUTTI_WRAP_END
#endif
