#include_next <dirent.h>

#include "tutti-wrap.h"

#ifndef TUTTI_DIRENT_H
#define TUTTI_DIRENT_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(7, opendir)
TUTTI_WRAPPED(8, closedir)
TUTTI_WRAPPED(7, readdir)
TUTTI_WRAPPED(9, rewinddir)
#if defined(__USE_XOPEN2K8)
TUTTI_WRAPPED(9, fdopendir)
#endif
#if defined(__USE_LARGEFILE64)
TUTTI_WRAPPED(9, readdir64)
#endif
#if defined(__USE_MISC) || defined(__USE_XOPEN)
TUTTI_WRAPPED(7, seekdir)
TUTTI_WRAPPED(7, telldir)
#endif
#if defined(__USE_XOPEN2K8)
TUTTI_WRAPPED(5, dirfd)
#endif
TUTTI_WRAP_END
#endif
