// The ledger, as `tutti serve` loads it.
#include "server/durability/ledger.hpp"

TUTTI_PROCEDURES(server) { ledger::add(server, server.setting("snapshot", "yes") == "yes"); }
