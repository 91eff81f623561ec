// What is made in the database, once for each prefix; @ stands for it. All of it can be made again while others run.
//
// Why commits have an instant, and gets see one state (B2, B3), at READ COMMITTED: a commit locks the row of everything
// that it checks or writes, in the order of the keys, until its end, and the version that it compares is that of the
// locked row. So nothing that it has compared changes before its writes are visible: commits are ordered by their ends
// (two-phase locking), and the snapshot of a get, which is one statement, cuts that order at one place. What nobody
// wrote yet gets a row, so that there is something to lock. SERIALIZABLE would add nothing but its own conflicts.
//
// Why a wake is not lost (B5): a commit tells others only while somebody listens, because NOTIFY makes commits wait for
// each other. A listener first says until when in @_watched, a sequence, whose value everybody sees at once; then it
// waits, by an exclusive advisory lock, for the commits that may have looked before, which hold it shared.
#pragma once

namespace tutti::cluster::backend {

inline constexpr const char* postgres_schema = R"sql(
CREATE TABLE IF NOT EXISTS "@_records"
  (key text PRIMARY KEY, version bigint NOT NULL, present boolean NOT NULL, bytes bytea) WITH (fillfactor = 70);
CREATE SEQUENCE IF NOT EXISTS "@_versions";
CREATE SEQUENCE IF NOT EXISTS "@_watched";
CREATE OR REPLACE FUNCTION "@_commit"(written text[], versions bigint[], present_now boolean[], bytes_now bytea[],
                                      checks text[], beside text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  at bigint;
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
    RETURN 0;
  END IF;
  at := nextval('"@_versions"');
  UPDATE "@_records" r SET version = at, present = w.p, bytes = w.b
    FROM unnest(written, present_now, bytes_now) AS w(k, p, b) WHERE r.key = w.k;
  PERFORM pg_advisory_xact_lock_shared(hashtext('@_watched'));
  IF (SELECT last_value FROM "@_watched") > extract(epoch FROM clock_timestamp()) * 1000 THEN
    told := array_to_string(written, ',');
    PERFORM pg_notify('@_written', CASE WHEN length(told) < 7900 THEN told ELSE '' END);
  END IF;
  RETURN at;
END $$;
)sql";

inline constexpr const char* postgres_get =
    R"sql(SELECT key, version, present, CASE WHEN key = ANY ($2::text[]) THEN bytes END
          FROM "@_records" WHERE key = ANY ($1::text[]))sql";

inline constexpr const char* postgres_commit = R"sql(SELECT "@_commit"($1, $2, $3, $4, $5, $6))sql";

/// The same for a commit that writes all that it checks, all of which exists: one statement, which is much less work.
/// $1 is sorted, so that rows are locked in one order. A row that was overwritten since is not found, and then an error
/// undoes what was done to the others: words that are no number, which the server's log shows. The arms of CASE are
/// looked at in turn: so the last value is asked for under the lock.
inline constexpr const char* postgres_quick_commit =
    R"sql(WITH at AS MATERIALIZED (SELECT nextval('"@_versions"') AS v),
               done AS (UPDATE "@_records" r SET version = (SELECT v FROM at), present = w.p, bytes = w.b
                        FROM unnest($1::text[], $2::bigint[], $3::boolean[], $4::bytea[]) AS w(k, v, p, b)
                        WHERE r.key = w.k AND r.version = w.v RETURNING 1),
               told AS (SELECT array_to_string($1::text[], ',') AS keys)
          SELECT CASE WHEN (SELECT count(*) FROM done) <> cardinality($1)
                           THEN (SELECT 'another commit was first, of ' || keys FROM told)::bigint
                      WHEN pg_advisory_xact_lock_shared(hashtext('@_watched')) IS NULL THEN 0
                      WHEN (SELECT last_value FROM "@_watched") <= extract(epoch FROM clock_timestamp()) * 1000 THEN v
                      WHEN pg_notify('@_written',
                                     (SELECT CASE WHEN length(keys) < 7900 THEN keys ELSE '' END FROM told)) IS NULL
                           THEN 0
                      ELSE v END FROM at)sql";

/// $1: milliseconds from now.
inline constexpr const char* postgres_watch =
    R"sql(SELECT setval('"@_watched"',
                        greatest(last_value, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $1))
          FROM "@_watched")sql";

}  // namespace tutti::cluster::backend
