// What is made in the database, once for each prefix; @ stands for it. All of it can be made again while others run.
//
// Why a get, which is one statement at READ COMMITTED, sees one state of one order (B2), although SERIALIZABLE alone
// does not promise that to readers outside of it (Fekete, O'Neil, O'Neil, "A read-only transaction anomaly under
// snapshot isolation", 2004): a commit locks the row of everything that it checks or writes, in one order, until its
// end. So whoever overwrites what a commit has checked becomes visible after it; the order in which commits become
// visible is the order of all conflicts, and a statement's snapshot cuts it at one place. What nobody wrote yet gets a
// row, so that there is something to lock.
//
// Why a wake is not lost (B5): a commit tells others only while somebody listens, because NOTIFY makes commits wait for
// each other. Who listens first says until when in @_watched, a sequence, whose value everybody sees at once; then
// waits, by an exclusive advisory lock, for the commits that may have looked before, which hold it shared.
#pragma once

namespace tutti::cluster::backend {

inline constexpr const char* postgres_schema = R"sql(
CREATE TABLE IF NOT EXISTS "@_records"
  (key text PRIMARY KEY, version bigint NOT NULL, present boolean NOT NULL, bytes bytea) WITH (fillfactor = 70);
CREATE SEQUENCE IF NOT EXISTS "@_versions";
CREATE SEQUENCE IF NOT EXISTS "@_watched";
CREATE OR REPLACE FUNCTION "@_commit"(checks text[], versions bigint[], written text[], present_now boolean[],
                                      bytes_now bytea[], beside text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  at bigint;
  there bigint := 0;
  one text;
  told text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('@_watched'));
  IF cardinality(beside) = 0 THEN
    SELECT count(*) INTO there FROM
      (SELECT 1 FROM "@_records" WHERE key = ANY (written) ORDER BY key FOR NO KEY UPDATE) AS locked;
  END IF;
  IF there < cardinality(written) THEN
    INSERT INTO "@_records" SELECT k, 0, false, NULL FROM unnest(checks || written) AS k
      WHERE NOT EXISTS (SELECT 1 FROM "@_records" r WHERE r.key = k) ON CONFLICT DO NOTHING;
  END IF;
  IF cardinality(beside) <> 0 THEN
    FOR one IN SELECT DISTINCT k FROM unnest(beside || written) AS k ORDER BY k LOOP
      IF one = ANY (written) THEN PERFORM 1 FROM "@_records" WHERE key = one FOR NO KEY UPDATE;
      ELSE PERFORM 1 FROM "@_records" WHERE key = one FOR SHARE;
      END IF;
    END LOOP;
  END IF;
  IF EXISTS (SELECT 1 FROM unnest(checks, versions) AS c(k, v)
             WHERE NOT EXISTS (SELECT 1 FROM "@_records" r WHERE r.key = c.k AND r.version = c.v)) THEN
    RETURN 0;
  END IF;
  at := nextval('"@_versions"');
  UPDATE "@_records" r SET version = at, present = w.p, bytes = w.b
    FROM unnest(written, present_now, bytes_now) AS w(k, p, b) WHERE r.key = w.k;
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

/// $1: milliseconds from now.
inline constexpr const char* postgres_watch =
    R"sql(SELECT setval('"@_watched"',
                        greatest(last_value, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $1))
          FROM "@_watched")sql";

}  // namespace tutti::cluster::backend
