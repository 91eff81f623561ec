// The SQL objects in the database. They are created once for each prefix; @ stands for the prefix. Creating them again
// does not harm running programs.
//
// Commits have an instant, and gets see one state (ENG2, ENG3), even at READ COMMITTED. The reasons are as follows. A
// commit locks the rows of all records that it checks or writes, in the order of the keys, and holds these locks until
// its end. The commit compares the versions of the locked rows. So no compared row changes before the commit's writes
// are visible. Commits are ordered by their ends (two-phase locking). A get is one statement, so its snapshot contains
// the commits up to one place in that order. If a checked or written record has no row yet, the commit first adds a row
// that it can lock. SERIALIZABLE would only add conflicts.
//
// No wakeup is lost (ENG5). A commit notifies only while a program listens, because NOTIFY makes commits wait for each
// other. Versions are drawn in blocks. A listener sets the sequence @_told_until to the block up to which commits
// notify. The sequence's value is visible at once, and never decreases. No clock is involved.
//
// At first, the listener takes an exclusive advisory lock. Commits hold this lock in shared mode, so the listener waits
// for all commits that may have read the old bound. Later, the listener tries to raise the bound before all blocks up
// to the bound are drawn. Then the listener reads the number of the last drawn block. A commit has drawn its block
// before it reads the bound. So if a commit did not notify, its block is above the bound that the listener knew. The
// listener finds this block, and its feed breaks.
//
// A connection draws versions a block at a time (the hi/lo method of databases), and gives them to its commits. So a
// commit's version is known when the commit is sent, and the sequence is not a point of contention.
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

/// $1: the keys to read. $2: the keys among them whose bytes are wanted.
inline constexpr const char* postgres_get =
    R"sql(SELECT key, version, present, CASE WHEN key = ANY ($2::text[]) THEN bytes END
          FROM "@_records" WHERE key = ANY ($1::text[]))sql";

/// The statement of a get that wants the bytes of all keys.
inline constexpr const char* postgres_plain_get =
    R"sql(SELECT key, version, present, bytes FROM "@_records" WHERE key = ANY ($1::text[]))sql";

inline constexpr const char* postgres_commit = R"sql(SELECT "@_commit"($1, $2, $3, $4, $5, $6, $7, $8))sql";

/// The statement of a commit that writes all records that it checks, all of which exist. A single statement is much
/// less work than the general commit. # stands for the written rows as w(k, v, p, b), sorted, so that rows are locked
/// in one order. %1 is the version, %2 its block, %3 the keys to notify of, and %4 the row whose update notifies. The
/// branches of CASE are evaluated in order, so the bound is read under the lock. If another commit has overwritten a
/// row, the statement casts a text to a number. This cast fails, which undoes the updates of the other rows. The
/// server's log shows the text.
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

/// The number of versions in a block. A connection draws one block at a time.
inline constexpr std::int64_t postgres_block = 256;

inline constexpr const char* postgres_draw = R"sql(SELECT nextval('"@_versions"'))sql";

/// The number of further blocks for which a listener makes commits notify. The listener raises the bound again once
/// half of these blocks are drawn. After the last listener is gone, the commits of up to postgres_reach blocks still
/// wait for each other.
inline constexpr std::int64_t postgres_reach = 400;

/// $1: postgres_reach. Allows one listener at a time, so that the bound never decreases. At a listener's start, this
/// statement runs in one transaction with postgres_await_commits.
inline constexpr const char* postgres_tell =
    R"sql(SELECT pg_advisory_xact_lock(hashtext('@_telling'));
          SELECT setval('"@_told_until"', greatest(t.last_value, v.last_value + $1))
          FROM "@_told_until" t, "@_versions" v)sql";

/// Waits for commits that may have read the old bound. Then returns the block up to which commits notify.
inline constexpr const char* postgres_await_commits =
    R"sql(SELECT pg_advisory_xact_lock(hashtext('@_told')); SELECT last_value FROM "@_told_until")sql";

/// Returns the last block that was drawn.
inline constexpr const char* postgres_drawn = R"sql(SELECT last_value FROM "@_versions")sql";

}  // namespace tutti::cluster::backend
