/* Every header of the C library begins with this one. The checked forms of its functions have no transactional
   clones. So this header disables them, even if the command line asks for them. */
#undef _FORTIFY_SOURCE
#include_next <features.h>

#include "tutti-builtins.h"
