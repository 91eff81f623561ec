// Does not compile: the block assigns a variable before a checkpoint and uses it afterwards, when its value is lost.
// With AMONG_OTHERS, in a loop.
#include <tutti/cluster/hyflow.hpp>

void gone(long& seen) {
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        long value;
#if defined(AMONG_OTHERS)
        int i;
        for (i = 0; i < 2; ++i) {
            value = HYFLOW_NFETCH("a", true, false) ? 1 : 2;
            HYFLOW_CHECKPOINT_HERE;
            seen += value;
        }
#else
        value = HYFLOW_NFETCH("a", true, false) ? 1 : 2;
        HYFLOW_CHECKPOINT_HERE;
        HYFLOW_FETCH("b", true);
        seen = value;
#endif
    }
    HYFLOW_ATOMIC_END;
}
