// What is made in the database, once for each prefix; @ stands for it. All of it can be made again while others run.
//
// Why commits have an instant, and gets see one state (B2, B3), at READ COMMITTED: a commit locks the row of everything
// that it checks or writes, in the order of the keys, until its end, and the version that it compares is that of the
// locked row. So nothing that it has compared changes before its writes are visible: commits are ordered by their ends
// (two-phase locking), and the snapshot of a get, which is one statement, cuts that order at one place. What nobody
// wrote yet gets a row, so that there is something to lock. SERIALIZABLE would add nothing but its own conflicts.
//
// Why a wake is not lost (B5): a commit tells others only while somebody listens, because NOTIFY makes commits wait for
// each other. A listener says up to which block of versions they do, in @_told_until, a sequence, whose value everybody
// sees at once and which never falls; no clock has a part in it. At first it waits then, by an exclusive advisory lock,
// for the commits that may have looked before, which hold it shared. Later it raises the bound in time, and asks
// afterwards for the last block: that of a commit was drawn before it looks, so one that did not tell has a block above
// the bound that the listener knew, and the listener finds that. Then its feed breaks.
//
// A connection draws versions a block at a time (the hi/lo of databases), and gives them to its commits: so a commit
// that is sent knows its own, and the sequence is no place where commits meet.
#pragma once

#include <cstdint>

namespace tutti::cluster::backend {

inline constexpr const char* postgres_schema = R"sql(
CREATE TABLE IF NOT EXISTS "@_records"
  (key text PRIMARY KEY, version bigint NOT NULL, present boolean NOT NULL, bytes bytea) WITH (fillfactor = 70);
CREATE SEQUENCE IF NOT EXISTS "@_versions";
CREATE SEQUENCE IF NOT EXISTS "@_told_until";
CREATE OR REPLACE FUNCTION "@_commit"(written text[], versions bigint[], present_now boolean[], bytes_now bytea[],
                                      checks text[], beside text[], at bigint, block bigint)
  RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  there bigint;
  one text;
  told text;
BEGIN
  LOOP
    IF cardinality(beside) = 0 THEN
      SELECT count(*) INTO there FROM
        (SELECT 1 FROM "@_records" WHERE key = ANY (written) ORDER BY key FOR NO KEY UPDATE) AS locked;
    ELSE
      there := 0;
      FOR one IN SELECT DISTINCT k FROM unnest(beside || written) AS k ORDER BY k LOOP
        IF one = ANY (written) THEN PERFORM 1 FROM "@_records" WHERE key = one FOR NO KEY UPDATE;
        ELSE PERFORM 1 FROM "@_records" WHERE key = one FOR SHARE;
        END IF;
        IF FOUND THEN there := there + 1; END IF;
      END LOOP;
    END IF;
    EXIT WHEN there = cardinality(beside) + cardinality(written);
    INSERT INTO "@_records" SELECT k, 0, false, NULL FROM unnest(beside || written) AS k
      WHERE NOT EXISTS (SELECT 1 FROM "@_records" r WHERE r.key = k) ORDER BY k ON CONFLICT DO NOTHING;
  END LOOP;
  IF EXISTS (SELECT 1 FROM unnest(checks, versions) AS c(k, v)
             WHERE NOT EXISTS (SELECT 1 FROM "@_records" r WHERE r.key = c.k AND r.version = c.v)) THEN
    RETURN false;
  END IF;
  UPDATE "@_records" r SET version = at, present = w.p, bytes = w.b
    FROM unnest(written, present_now, bytes_now) AS w(k, p, b) WHERE r.key = w.k;
  PERFORM pg_advisory_xact_lock_shared(hashtext('@_told'));
  IF (SELECT last_value FROM "@_told_until") >= block THEN
    told := array_to_string(written, ',');
    PERFORM pg_notify('@_written', CASE WHEN length(told) < 7900 THEN told ELSE '' END);
  END IF;
  RETURN true;
END $$;
)sql";

/// $1 is looked at, $2 is wanted, too.
inline constexpr const char* postgres_get =
    R"sql(SELECT key, version, present, CASE WHEN key = ANY ($2::text[]) THEN bytes END
          FROM "@_records" WHERE key = ANY ($1::text[]))sql";

/// The same where all is wanted.
inline constexpr const char* postgres_plain_get =
    R"sql(SELECT key, version, present, bytes FROM "@_records" WHERE key = ANY ($1::text[]))sql";

inline constexpr const char* postgres_commit = R"sql(SELECT "@_commit"($1, $2, $3, $4, $5, $6, $7, $8))sql";

/// The same for a commit that writes all that it checks, all of which exists: one statement, which is much less work.
/// # is what is written, sorted, so that rows are locked in one order, as w(k, v, p, b); %1 the version, %2 its block,
/// %3 the keys that are told, and %4 the row with which that is done. The arms of CASE are looked at in turn: so the
/// bound is looked at under the lock. A row that was overwritten since is an error, which undoes what was done to the
/// others: words that are no number, which the server's log shows.
inline constexpr const char* postgres_quick_commit =
    R"sql(UPDATE "@_records" r
          SET version = CASE WHEN r.version <> w.v THEN ('another commit was first, of ' || r.key)::bigint
                             WHEN r.key <> %4::text THEN %1::bigint
                             WHEN pg_advisory_xact_lock_shared(hashtext('@_told')) IS NULL THEN NULL
                             WHEN coalesce(pg_sequence_last_value('"@_told_until"'), 0) < %2::bigint THEN %1::bigint
                             WHEN pg_notify('@_written', %3::text) IS NULL THEN NULL
                             ELSE %1::bigint END,
              present = w.p, bytes = w.b
          FROM # AS w(k, v, p, b) WHERE r.key = w.k)sql";

/// So many versions are of a block, which a connection draws.
inline constexpr std::int64_t postgres_block = 256;

inline constexpr const char* postgres_draw = R"sql(SELECT nextval('"@_versions"'))sql";

/// For how many more blocks a listener has commits tell: it says so again before half of them are drawn, and when the
/// last listener has gone, commits of so many still wait for each other.
inline constexpr std::int64_t postgres_reach = 400;

/// $1: postgres_reach. One listener at a time, so that the bound never falls; in one transaction with what follows.
inline constexpr const char* postgres_tell =
    R"sql(SELECT pg_advisory_xact_lock(hashtext('@_telling'));
          SELECT setval('"@_told_until"', greatest(t.last_value, v.last_value + $1))
          FROM "@_told_until" t, "@_versions" v)sql";

/// Waits for commits that may have looked before; and then up to which block they tell.
inline constexpr const char* postgres_await_commits =
    R"sql(SELECT pg_advisory_xact_lock(hashtext('@_told')); SELECT last_value FROM "@_told_until")sql";

/// The last block that was drawn.
inline constexpr const char* postgres_drawn = R"sql(SELECT last_value FROM "@_versions")sql";

}  // namespace tutti::cluster::backend
