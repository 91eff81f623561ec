// Does not compile: a variable of the block is used after a checkpoint, where a block that goes on there has none.
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
