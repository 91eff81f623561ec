// Does not compile: uses a variable of the block after a checkpoint. A block that continues there does not have it.
#include <tutti/cluster/hyflow.hpp>

void crossing() {
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        std::string id = "a";
        HYFLOW_CHECKPOINT_HERE;
        HYFLOW_FETCH(id, true);
    }
    HYFLOW_ATOMIC_END;
}
