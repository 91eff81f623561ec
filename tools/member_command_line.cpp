// The command line of `tutti member`.
#include <iterator>
#include <memory>

#include "at_commas.hpp"
#include "subcommand.hpp"

namespace tutti::tools {
namespace {

using deed = member_command_options::deed;

struct words {
    member_command_options options;
    std::string group;
};

/// Uses the same options and variables of the environment as nodes.
void add_tls(CLI::App& to, words& said, const char* whose) {
    const auto file = [&to](const char* name, const char* variable, std::string& value, const std::string& help) {
        to.add_option(name, value, help)->type_name("FILE")->envname(variable);
    };
    file("--certificate", "TUTTI_CLUSTER_CERTIFICATE", said.options.tls.certificate,
         std::string{"Speak TLS, and show this certificate (PEM), made for "} + whose);
    file("--key", "TUTTI_CLUSTER_KEY", said.options.tls.key, "Its key (PEM)");
    file("--authority", "TUTTI_CLUSTER_AUTHORITY", said.options.tls.authority,
         "Whoever has signed the certificates of all members and programs (PEM)");
    const protocol_options protocol =
        add_protocol(to, said.options.tls.minimum_version, said.options.tls.ciphers, said.options.tls.ciphersuites);
    protocol.minimum_version->envname("TUTTI_CLUSTER_TLS_MIN_VERSION");
    protocol.ciphers->envname("TUTTI_CLUSTER_TLS_CIPHERS");
    protocol.ciphersuites->envname("TUTTI_CLUSTER_TLS_CIPHERSUITES");
    to.add_option("--name", said.options.name, "Of the group, as its certificates have it")
        ->envname("TUTTI_CLUSTER_NAME")
        ->capture_default_str();
}

void add_group(CLI::App& to, words& said) {
    to.add_option("--group", said.group, "Addresses of members, with commas between; one that is up is enough")
        ->required()
        ->type_name("ADDRESSES");
    to.add_option("--within", said.options.within, "Seconds in which a member has to answer")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
}

void add_groups(CLI::App& to, words& said) {
    to.add_option("--groups", said.options.groups,
                  "The groups that programs are given: addresses of members, with commas between, and semicolons "
                  "between groups")
        ->required()
        ->type_name("ADDRESSES;...");
    to.add_option("--prefix", said.options.prefix, "Of the objects, as the programs have it")->capture_default_str();
    to.add_option("--within", said.options.patience, "Seconds in which a group has to answer")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
    add_tls(to, said, "program.NAME or member.NAME");
    to.add_flag("--json", said.options.json, "As JSON");
}

}  // namespace

subcommand add_member(CLI::App& to) {
    CLI::App* const member = to.add_subcommand("member", "Be one of the members that keep the objects of a group");
    member->require_subcommand(1);
    const auto said = std::make_shared<words>();
    CLI::App* const run = member->add_subcommand(
        "run", "Keep the group's objects in a folder, until SIGTERM; a folder that knows its group needs nothing else");
    run->add_option("--folder", said->options.folder, "Log, snapshots, and who the member is; made if it is not there")
        ->required()
        ->type_name("FOLDER");
    run->add_option("--listen", said->options.address,
                    "Of a new member: host:port, the host a name, a number, or one of IPv6 in brackets; without TLS, "
                    "of loopback")
        ->type_name("ADDRESS");
    run->add_option("--advertise", said->options.advertise,
                    "The address that others reach the member by, if it is not that of --listen")
        ->type_name("ADDRESS");
    CLI::Option* const founds = run->add_flag("--new-group", said->options.founds, "A new member begins a group");
    run->add_option("--join", said->group, "A new member joins the group of these members, with commas between")
        ->excludes(founds)
        ->type_name("ADDRESSES");
    run->add_option("--election", said->options.election,
                    "Seconds without the leader after which another is chosen, or up to twice as many")
        ->check(CLI::Range(0.05, 60.0))
        ->capture_default_str();
    run->add_option("--metrics", said->options.metrics,
                    "HTTP address of loopback where Prometheus may ask; port 0: one that the system chooses")
        ->type_name("HOST:PORT")
        ->envname("TUTTI_CLUSTER_METRICS");
    run->add_option("--snapshot-bytes", said->options.snapshot_bytes,
                    "The objects are saved, and the log before that dropped, when the log has grown by so much, and by "
                    "as much as was saved last; such as 256MiB")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(std::size_t{64} << 10, std::size_t{1} << 40))
        ->type_name("SIZE")
        ->default_str("64MiB");
    add_tls(*run, *said, "member.NAME");
    run->add_flag("--json", said->options.json, "Say what is said in lines of JSON: time, level, message");
    CLI::App* const status = member->add_subcommand(
        "status", "Ask the members, and show a row for each; ends with 1 if one does not answer or is no voter yet");
    add_group(*status, *said);
    add_tls(*status, *said, "program.NAME or member.NAME");
    status->add_flag("--json", said->options.json, "All that they say, as JSON");
    CLI::App* const remove =
        member->add_subcommand("remove", "Take a member out of its group, which need not be up for it");
    remove->add_option("member", said->options.which, "Its number, or its address")->required();
    add_group(*remove, *said);
    add_tls(*remove, *said, "member.NAME");
    CLI::App* const groups =
        member->add_subcommand("groups", "Show which groups keep objects together, and how much of them each has");
    add_groups(*groups, *said);
    CLI::App* const move = member->add_subcommand(
        "move",
        "Have groups that keep objects together have as much of them each, while programs use them; if it was "
        "killed, call it again");
    add_groups(*move, *said);
    move->add_option("--join", said->options.joins, "A group that gets its share from now on, by some of its members")
        ->type_name("ADDRESSES");
    move->add_option("--leave", said->options.leaves, "A group that gives away all that it has, and may be ended then")
        ->type_name("ADDRESSES");
    CLI::App* const readdress = member->add_subcommand(
        "readdress",
        "Tell the folder of a member that does not run which members have other addresses, itself among them; if all "
        "have moved, tell each folder of all");
    readdress->add_option("--folder", said->options.folder, "Of the member")->required()->type_name("FOLDER");
    readdress->add_option("moves", said->options.moves, "The address that a member had, and the one that it has")
        ->required()
        ->type_name("OLD=NEW");
    CLI::App* const force = member->add_subcommand(
        "force-new-group",
        "Make a member that does not run the only one of a new group, with what it has, since the others are lost for "
        "good; what they alone had acknowledged is lost, and none of them may be started again");
    force->add_option("--folder", said->options.folder, "Of the member")->required()->type_name("FOLDER");
    add_tls(*force, *said, "member.NAME");
    const auto objects_of = [&](CLI::App& verb, const char* file, const char* help) {
        verb.add_option("--group", said->options.groups, "Addresses of members of the group, with commas between")
            ->required()
            ->type_name("ADDRESSES");
        if (file != nullptr) verb.add_option(file, said->options.file, help)->required()->type_name("FILE");
        verb.add_option("--prefix", said->options.prefix, "Of the objects, as the programs have it")
            ->capture_default_str();
        verb.add_option("--within", said->options.patience, "Seconds in which the group has to answer")
            ->check(CLI::Range(0.01, 3600.0))
            ->capture_default_str();
        add_tls(verb, *said, "program.NAME or member.NAME");
    };
    CLI::App* const snapshot = member->add_subcommand(
        "snapshot", "Write the objects of a prefix into a file, while programs go on: one state of them");
    objects_of(*snapshot, "--output", "Which is replaced when the new one is whole");
    CLI::App* const restore =
        member->add_subcommand("restore", "Have a new group, without objects of the prefix, have those of a snapshot");
    objects_of(*restore, "--input", "What 'tutti member snapshot' has written");
    CLI::App* const lines = member->add_subcommand(
        "export", "Print the objects of a prefix, each as a line of JSON: id, version, and value as base64");
    objects_of(*lines, nullptr, nullptr);
    return {member, [=] {
                member_command_options all = said->options;
                all.group = at_commas(said->group);
                constexpr deed deeds[] = {deed::status,   deed::remove,  deed::groups,  deed::move, deed::readdress,
                                          deed::snapshot, deed::restore, deed::export_, deed::force};
                const CLI::App* const verbs[] = {status,   remove,  groups, move, readdress,
                                                 snapshot, restore, lines,  force};
                for (std::size_t i = 0; i < std::size(verbs); ++i) {
                    if (verbs[i]->parsed()) all.what = deeds[i];
                }
                return all;
            }};
}

}  // namespace tutti::tools
