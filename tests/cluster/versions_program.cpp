// One of two nodes whose programs have different versions of a type; PERSON selects this program's version. The first
// program publishes an object, and the later one reads and writes it. Then the first program cannot read the object any
// more, and reports an error.
// Arguments: the number of this node, the addresses of both. Exit status: 0 if every step behaved as expected.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>

#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

struct person {
    std::string name;
#if PERSON == 0
    template <class Archive>
    void serialize(Archive& a) {
        a(name);
    }
#else
    int age = -1;
#if PERSON == 2
    std::string town = "nowhere";
#endif
    template <class Archive>
    void serialize(Archive& a, [[maybe_unused]] std::uint32_t version) {
        a(name);
        if (version >= 1) a(age);
#if PERSON == 2
        if (version >= 2) a(town);
#endif
    }
#endif
};
#if PERSON != 0
CEREAL_CLASS_VERSION(person, PERSON)
#endif

namespace {

using namespace tutti;
using cluster::ref;

enum stage : long { published = 1, written, refused, over };

void wait_for(const ref<long>& at, stage wanted) {
    atomically([&](tx& t) {
        const long* const now = at.find(t);
        if (now == nullptr || *now < wanted) retry(t);
    });
}

int be_first(const ref<person>& ada, const ref<long>& at) {
    atomically([&](tx& t) {
        ada.publish(t, {.name = "Ada"});
        at.publish(t, published);
    });
    wait_for(at, written);
    try {
        atomically([&](tx& t) { return ada.read(t).name; });
        std::cerr << "a later version was read\n";
        return 1;
    } catch (const cluster::type_mismatch& e) {
        std::cout << e.what() << '\n';
    }
    // The other node may see the last stage, and may end before it has answered this node.
    try {
        atomically([&](tx& t) { at.write(t) = refused; });
        wait_for(at, over);
    } catch (const cluster::node_lost&) {}
    return 0;
}

int be_later([[maybe_unused]] const ref<person>& ada, const ref<long>& at) {
    wait_for(at, published);
#if PERSON != 0
    const auto found = atomically([&](tx& t) { return ada.read(t); });
    std::cout << found.name << ' ' << found.age << '\n';
    if (found.name != "Ada" || found.age != -1) return 1;
    atomically([&](tx& t) {
        ada.write(t).age = 36;
        at.write(t) = written;
    });
    if (atomically([&](tx& t) { return ada.read(t).age; }) != 36) return 1;
#endif
    wait_for(at, refused);
    atomically([&](tx& t) { at.write(t) = over; });
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    try {
        cluster::node here{{.node_number = static_cast<unsigned>(std::stoul(argv[1])),
                            .addresses = {argv[2], argv[3]},
                            .failure_timeout = std::chrono::seconds{20}}};
        const ref<person> ada{here, "ada"};
        const ref<long> at{here, "stage"};
        return std::string_view{argv[1]} == "0" ? be_first(ada, at) : be_later(ada, at);
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
