// A client of `tutti serve` in JavaScript, by node-redis: `node bank.js PORT`, with the procedures of docs/server.md.
//
// The settings:
//   connectTimeout       for the connection; node-redis has no timeout for a reply, so `ask` has one, longer than the
//                        longest call
//   reconnectStrategy    the default tries forever, and a program that cannot reach its server prints nothing
//   disableOfflineQueue  without a connection, a command fails at once instead of waiting in memory
// node-redis never sends a command twice: commands without a reply fail when the connection breaks. Send the call again
// with the same ID: the call runs once, whatever happens to the connection.

"use strict";

const { randomUUID } = require("node:crypto");
const { setTimeout: pause } = require("node:timers/promises");
const { createClient, ErrorReply } = require("redis");

const longestCall = 10_000; // ms

async function connect(port) {
    let latest = "nothing is known"; // why there is no connection
    const bank = createClient({
        socket: {
            host: "127.0.0.1",
            port,
            connectTimeout: 2_000,
            reconnectStrategy: (tries) => (tries < 5 ? 50 * 2 ** tries : new Error(`the server cannot be reached: ${latest}`)),
        },
        disableOfflineQueue: true,
    });
    bank.on("error", (e) => {
        latest = e.message;
    });
    await bank.connect();
    return bank;
}

class Late extends Error {}

async function within(limit, answer) {
    let timer;
    const late = new Promise((_, fail) => {
        timer = setTimeout(() => fail(new Late("no answer in time")), limit);
    });
    try {
        return await Promise.race([answer, late]);
    } finally {
        clearTimeout(timer);
    }
}

/** Words are strings, so numbers have to be converted. */
const ask = (bank, ...words) => within(longestCall, bank.sendCommand(words.map(String)));

/** Runs the call exactly once, even if a reply is lost. */
async function callOnce(bank, name, ...given) {
    const attempts = 5;
    const key = randomUUID(); // all clients of a server share its keys
    for (let attempt = 1; ; ++attempt) {
        try {
            if (!bank.isOpen) await bank.connect();
            return await ask(bank, "CALL", "ID", key, name, ...given);
        } catch (e) {
            if (e instanceof ErrorReply || attempt === attempts) throw e; // the server has replied
            if (e instanceof Late) await bank.disconnect(); // replies come in order, so none follows
            else await pause(50 * 2 ** attempt); // the client reconnects automatically
        }
    }
}

/** Runs all calls in one transaction, or none. */
async function together(bank, ...calls) {
    const all = bank.multi();
    for (const call of calls) all.addCommand(["CALL", ...call.map(String)]);
    return within(longestCall, all.exec());
}

async function main() {
    const bank = await connect(Number(process.argv[2]));
    console.log("moved:", await callOnce(bank, "transfer", 1, 2, 30));
    console.log("left:", await ask(bank, "CALL", "balance", 1));
    console.log("both:", (await together(bank, ["transfer", 2, 3, 10], ["transfer", 3, 1, 10])).join(" "));
    try {
        await together(bank, ["transfer", 1, 2, 10], ["transfer", 2, 1, 1_000_000]);
    } catch (e) {
        if (!(e instanceof ErrorReply)) throw e;
        console.log("neither:", e.message.split(" ")[0]);
    }
    console.log("left:", await ask(bank, "CALL", "balance", 1));
    await bank.quit();
}

main().catch((e) => {
    console.error("bank:", e.message);
    process.exit(1);
});
