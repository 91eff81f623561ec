#include_next <unistd.h>

#include "tutti-wrap.h"

#ifndef TUTTI_UNISTD_H
#define TUTTI_UNISTD_H
TUTTI_WRAP_BEGIN
TUTTI_PURE(getpid)
TUTTI_PURE(getppid)
TUTTI_WRAPPED(5, close)
TUTTI_WRAPPED(3, dup)
TUTTI_WRAPPED(4, dup2)
TUTTI_WRAPPED(4, pipe)
TUTTI_WRAPPED(6, isatty)
TUTTI_WRAPPED(4, read)
TUTTI_WRAPPED(5, write)
TUTTI_WRAPPED(5, lseek)
TUTTI_WRAPPED(6, access)
TUTTI_WRAPPED(6, unlink)
TUTTI_WRAPPED(5, rmdir)
TUTTI_WRAPPED(5, sleep)
TUTTI_BUILTIN(5, _exit)
#if (defined(__USE_XOPEN_EXTENDED) && !defined(__USE_XOPEN2K8)) || defined(__USE_MISC)
TUTTI_WRAPPED(6, usleep)
#endif
#if defined(__USE_UNIX98) || defined(__USE_XOPEN2K8)
TUTTI_WRAPPED(5, pread)
TUTTI_WRAPPED(6, pwrite)
#endif
#ifdef __USE_GNU
TUTTI_WRAPPED(4, dup3)
TUTTI_WRAPPED(5, pipe2)
#endif
#if defined(__USE_XOPEN_EXTENDED) || defined(__USE_XOPEN2K8)
TUTTI_WRAPPED(8, truncate)
#endif
#if defined(__USE_POSIX199309) || defined(__USE_XOPEN_EXTENDED) || defined(__USE_XOPEN2K)
TUTTI_WRAPPED(9, ftruncate)
#endif
#if defined(__USE_XOPEN) || defined(__USE_XOPEN2K)
TUTTI_WRAPPED(5, fsync)
#endif
#if defined(__USE_POSIX199309) || defined(__USE_UNIX98)
TUTTI_WRAPPED(9, fdatasync)
#endif
#ifdef __USE_LARGEFILE64
TUTTI_WRAPPED(7, lseek64)
TUTTI_WRAPPED(7, pread64)
TUTTI_WRAPPED(8, pwrite64)
TUTTI_WRAPPED(10, truncate64)
TUTTI_WRAPPED(11, ftruncate64)
#endif
TUTTI_WRAPPED(4, link)
TUTTI_WRAPPED(5, chdir)
TUTTI_WRAPPED(6, getcwd)
#if defined(__USE_ATFILE)
TUTTI_WRAPPED(9, faccessat)
TUTTI_WRAPPED(6, linkat)
TUTTI_WRAPPED(9, symlinkat)
TUTTI_WRAPPED(10, readlinkat)
TUTTI_WRAPPED(8, unlinkat)
#endif
#if defined(__USE_GNU)
TUTTI_WRAPPED(10, euidaccess)
TUTTI_WRAPPED(7, eaccess)
TUTTI_WRAPPED(20, get_current_dir_name)
#endif
#if defined(__USE_XOPEN_EXTENDED) || defined(__USE_XOPEN2K)
TUTTI_WRAPPED(7, symlink)
TUTTI_WRAPPED(8, readlink)
#endif
#if defined(__USE_XOPEN_EXTENDED) || defined(__USE_XOPEN2K8)
TUTTI_WRAPPED(6, fchdir)
#endif
TUTTI_WRAPPED(8, pathconf)
TUTTI_WRAPPED(9, fpathconf)
TUTTI_PURE(getuid)
TUTTI_PURE(geteuid)
TUTTI_PURE(getgid)
TUTTI_PURE(getegid)
TUTTI_PURE(getpgrp)
TUTTI_PURE(sysconf)
#if defined(__USE_XOPEN_EXTENDED) || defined(__USE_XOPEN2K8)
TUTTI_PURE(getpgid)
TUTTI_PURE(getsid)
#endif
#if defined(__USE_MISC)
TUTTI_PURE(getdtablesize)
#endif
#if defined(__USE_GNU)
TUTTI_PURE(gettid)
#endif
TUTTI_WRAPPED(9, getgroups)
#if defined(__USE_XOPEN_EXTENDED) || defined(__USE_XOPEN2K)
TUTTI_WRAPPED(11, gethostname)
#endif
#if defined(__USE_MISC)
TUTTI_WRAPPED(13, getdomainname)
TUTTI_WRAPPED(10, getentropy)
#endif
#if defined(__USE_POSIX2)
TUTTI_WRAPPED(7, confstr)
#endif
#if defined(__USE_GNU)
TUTTI_WRAPPED(9, getresuid)
TUTTI_WRAPPED(9, getresgid)
#endif
TUTTI_WRAPPED(9, ttyname_r)
#if defined(__USE_XOPEN)
TUTTI_WRAPPED(4, swab)
#endif
TUTTI_WRAP_END
#endif
