/* Every header of the C library begins with this one. Checked forms of its functions have no transactional clones, so
   there are none, wherever on the command line somebody asked for them. */
#undef _FORTIFY_SOURCE
#include_next <features.h>

#include "tutti-builtins.h"
