// The parts of a server that an I/O thread uses, for tests: no log, no users, no service.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "server/net/io_thread.hpp"
#include "server/unused_service_control.hpp"

namespace tutti::server {

struct io_thread_parts {
    explicit io_thread_parts(executor& runs, settings given = {})
        : how{std::move(given)},
          shared{.how = how,
                 .known_commands = known,
                 .runs = runs,
                 .workers = 1,
                 .listening_sockets = {},
                 .directory = clients,
                 .replies = replies,
                 .passwords = passwords,
                 .slow = slow} {}

    const settings how;
    catalog procedures;
    timeline recorder{1};
    client_directory clients;
    reply_cache replies{{.answers = 1, .bytes = 1000, .time = std::chrono::minutes{1}}};
    accounts users{std::vector<user>{}};
    password_verifier passwords{users};
    slow_log slow{std::chrono::microseconds{-1}, 0};
    unused_service_control control;
    const commands known{{.how = how,
                          .procedures = procedures,
                          .users = users,
                          .recorder = recorder,
                          .clients = clients,
                          .replies = replies,
                          .slow = slow,
                          .control = control}};
    io_shared_state shared;
};

}  // namespace tutti::server
