/* Every header of the C library includes this header first. The checked forms of the library's functions have no
   transactional clones. So this header disables the checked forms, even if the command line requests them. */
#undef _FORTIFY_SOURCE
#include_next <features.h>

#include "tutti-builtins.h"
