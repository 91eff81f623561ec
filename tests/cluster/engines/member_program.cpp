// A group member for the tests, with injectable faults:
//   member_program <folder> <address> new|<address to join>
//                  [fault [files of TLS, or "", authority, fault of TLS [delay of the disk, setting...]]]
// A setting is address=place, or snapshot-bytes=number.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <tutti/cluster/member.hpp>

#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/injected_conditions.hpp"
#include "wire/fault_injection.hpp"

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    namespace replica = tutti::cluster::replica;
    if (argc > 4) replica::injected_fault = static_cast<replica::fault>(std::atoi(argv[4]));
    if (argc > 8) replica::injected_disk_delay = std::chrono::milliseconds{std::atoi(argv[8])};
    tutti::cluster::member_options how;
    for (int i = 9; i < argc; ++i) {
        const std::string setting{argv[i]};
        const std::size_t middle = setting.find('=');
        const std::string name = setting.substr(0, middle), value = setting.substr(middle + 1);
        if (name == "snapshot-bytes") how.snapshot_bytes = std::stoull(value);
        else replica::injected_routes[name] = value;
    }
    ::signal(SIGXFSZ, SIG_IGN);  // a test limits the file size; like a full disk, this must be an error of the write
    sigset_t ends;
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    try {
        how.data_dir = argv[1];
        how.address = argv[2];
        how.new_group = std::string{argv[3]} == "new";
        if (!how.new_group) how.join = {argv[3]};
        if (argc > 7 && *argv[5] != 0) {
            how.tls = {.certificate = argv[5] + std::string{".pem"},
                       .key = argv[5] + std::string{".key"},
                       .authority = argv[6]};
            tutti::wire::injected_fault = static_cast<tutti::wire::fault>(std::atoi(argv[7]));
        }
        tutti::cluster::member here{how, [](tutti::cluster::member::severity, const std::string& line) {
                                        std::printf("%s\n", line.c_str());
                                        std::fflush(stdout);
                                    }};
        std::thread{[&] {
            int which = 0;
            ::sigwait(&ends, &which);
            here.stop();
        }}.detach();
        here.run();
    } catch (const std::exception& e) {
        std::printf("%s\n", e.what());
        std::fflush(stdout);
        return 1;
    }
    return 0;
}
